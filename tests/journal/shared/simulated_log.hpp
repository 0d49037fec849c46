#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "journal/shared/log_service.hpp"

namespace millrace::journal {

/// An engine in memory: what several servers share in a test. What it has stored stays. Servers may
/// use it from threads of their own.
class SimulatedLog {
 public:
  struct Message {
    std::string bytes;
    bool is_begin = true;  ///< of an entry
    bool is_end = true;
  };

  /// An entry takes a message for each so many bytes, and no message is longer.
  std::size_t message_bytes_max = 1 << 20;
  /// For tests of the tests: a log that stores whatever comes, at its end.
  bool checks_expected_last = true;
  /// Why nothing is stored, where nothing is.
  std::string refuses_with;

  /// False: the log ends elsewhere.
  bool append(Sequence expected_last, Message message);
  void trim(Sequence before);
  /// An older log is brought back, which ended there.
  void set_back(Sequence last);

  [[nodiscard]] Sequence begin() const;
  [[nodiscard]] Sequence last() const;
  [[nodiscard]] Message at(Sequence sequence) const;
  /// For tests of what a server does with a log that is not as it should be.
  void replace(Sequence sequence, Message message);

 private:
  mutable std::mutex mutex_;
  Sequence begin_ = 1;
  std::deque<Message> messages_;
};

/// One server's connection to such an engine.
///
/// What is sent is on its way until `deliver_request`, and so is the answer until `deliver_answer`.
/// A test calls these, in any order among several servers; or the connection does by itself.
class SimulatedLogService final : public LogService {
 public:
  enum class Delivery {
    kAtOnce,   ///< the answer is there when the caller asks for it
    kStepped,  ///< the test delivers
  };

  SimulatedLogService(SimulatedLog& log, Delivery delivery) : log_(log), delivery_(delivery) {}

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override;
  [[nodiscard]] Outcome<Extent> extent() override;
  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override;
  using LogService::append;
  void append(Entry entry) override;
  [[nodiscard]] std::vector<Answer> answers(Duration longest) override;
  [[nodiscard]] Outcome<Done> trim(Sequence before) override;
  void wake() noexcept override;

  /// The oldest request reaches the engine, which answers. False: there is none.
  bool deliver_request();
  /// Only the first message of the oldest request, where it has several, reaches the engine. False:
  /// it has not.
  bool deliver_beginning();
  /// The oldest request never gets there.
  bool lose_request();
  /// The oldest answer reaches the server. False: there is none.
  bool deliver_answer();

  /// All that was not answered yet stays without an answer. What is on its way may still arrive.
  void time_out();

  /// Requests and answers that are on their way; and all that the server still waits for.
  [[nodiscard]] bool has_traffic() const { return !requests_.empty() || !replies_.empty(); }
  [[nodiscard]] bool has_requests() const { return !requests_.empty(); }
  /// Which of all appends, from 1, is the oldest that has no answer; 0: none.
  [[nodiscard]] std::uint64_t oldest_unanswered() const;
  /// How many there were.
  [[nodiscard]] std::uint64_t appends() const { return appends_; }
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }

  bool is_cut_off = false;  ///< the engine cannot be reached
  std::uint64_t lag = 0;    ///< `follow` does not see the newest messages, so many

 private:
  struct Request {
    std::uint64_t number = 0;  ///< of the append
    Entry entry;
  };
  struct Reply {
    std::uint64_t number = 0;
    std::optional<Refusal> refusal = {};
    std::string problem = {};
  };
  struct Waiting {
    std::uint64_t number = 0;
    Sequence last = 0;
    std::optional<Refusal> refusal = {};
    bool is_answered = false;
    std::string problem = {};
  };

  void wait(Duration longest);
  [[nodiscard]] Reply answer(const Request& request);
  bool store(const Entry& entry);
  void answer_all();

  SimulatedLog& log_;
  const Delivery delivery_;
  std::uint64_t appends_ = 0;
  std::deque<Request> requests_;
  std::deque<Reply> replies_;
  std::deque<Waiting> waiting_;  ///< appends that the caller has no answer to
  Entry partial_;                ///< that `follow` has seen the beginning of
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;  ///< under that mutex
};

}  // namespace millrace::journal
