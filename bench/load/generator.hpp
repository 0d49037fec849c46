#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "dialogue.hpp"
#include "histogram.hpp"
#include "plan.hpp"

namespace bench {

/// Carries a plan out with one thread and one epoll set, so that the generator takes as little as
/// possible of the machine that it shares with the server.
class Generator {
 public:
  explicit Generator(const Plan& plan);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Connects and greets. Throws when the server is not there.
  void connect();

  /// Works until the plan is done. Throws when a reply is not what it must be, when a job came
  /// twice, and when nothing is done for half a minute (a job is lost, or the server does not
  /// answer).
  void run();

  /// After `run`: cycles, and any work that is to be drained, take all that is left. Throws as
  /// `run` does, and when a job did not come.
  void drain();

  /// It ends now, when what was begun is done. May be called in a signal handler, as the next.
  void finish() { is_finishing_ = true; }

  /// Latencies are counted anew from now on.
  void forget() { is_forgetting_ = true; }

  [[nodiscard]] std::size_t done() const { return done_; }
  [[nodiscard]] double seconds() const;
  [[nodiscard]] const Histogram& latencies() const { return latencies_; }

  /// Of each command by itself, where an operation is several and one is in flight.
  [[nodiscard]] const Histogram& replies() const { return replies_; }
  [[nodiscard]] const Deliveries& deliveries() const { return deliveries_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int descriptor = -1;
    std::unique_ptr<Dialogue> dialogue;
    std::string input;
    std::size_t operations = 0;  ///< of the bundle that is under way
    std::size_t in_flight = 0;   ///< commands without their replies
    std::size_t greetings = 0;   ///< replies to the greeting that are still to come
    Clock::time_point begun{};   ///< when the operation, or the bundle of them, began
    Clock::time_point asked{};   ///< when the latest command was sent
  };

  void open(std::size_t number);
  void wait(Clock::duration most);
  [[nodiscard]] Clock::duration time_to_next() const;
  void forget_if_told();
  [[nodiscard]] bool is_to_be_drained() const;
  void receive(Connection& connection);
  void take_replies(Connection& connection);
  void begin(Connection& connection, Clock::time_point at);
  void go_on(Connection& connection);
  void begin_next(Connection& connection);
  [[nodiscard]] Clock::time_point next_due() const;
  void begin_what_is_due();
  void note_reply(Connection& connection);
  void say(Connection& connection, const std::string& text);
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool is_time_up() const;

  std::atomic<bool> is_finishing_ = false;
  std::atomic<bool> is_forgetting_ = false;
  const Plan& plan_;
  Deliveries deliveries_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> idle_;  ///< in the open loop
  int set_ = -1;
  std::vector<char> buffer_;
  std::string output_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
  std::size_t greeting_ = 0;  ///< connections that are not greeted yet
  std::size_t draining_ = 0;  ///< connections that still find jobs when everything is done
  Clock::time_point start_{};
  Clock::time_point end_{};
  Clock::time_point progress_{};  ///< when an operation ended last, or one began after a pause;
                                  ///< when a job that was left came
  Histogram latencies_;
  Histogram replies_;
};

}  // namespace bench
