#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "http/kit/message.hpp"
#include "server/net/poller.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// Lets other threads run a function in the thread of the broker, and returns its answer. The
/// answer to a change is returned when everything recorded before it is durable, like every reply
/// over the job protocols. The answer to a read is returned at once: the pages must show the state
/// of a server whose disk is the problem.
class WebGate final : public Responder {
 public:
  using Question = std::function<http::Response()>;

  WebGate(Poller& poller, Turn& turn) : poller_(poller), turn_(turn) {}

  /// Runs `question` in the thread of the main loop, and waits for the answer. nullopt: there was
  /// none within `patience`, or the gate is closed; a change may still have been made. Must not be
  /// called in the thread of the main loop.
  [[nodiscard]] std::optional<http::Response> ask(std::chrono::seconds patience, Question question);

  /// Called when the loop has ended: returns all pending answers, as done or as unknown, and
  /// answers nothing after that.
  void close(bool is_all_durable);

  void resume(Time) override {}
  std::optional<Lsn> bind(Lsn lsn, Lsn durable) override;
  void send_durable(Lsn durable) override;

  static constexpr auto kAnswerMax = std::chrono::seconds(20);

 private:
  struct Call;
  /// Shared by the thread that waits, which may give up, and the loop, which may never run it.
  using CallPointer = std::shared_ptr<Call>;
  struct Pending {
    CallPointer call;
    http::Response response;
    std::optional<Lsn> lsn;  ///< nullopt: not bound to a batch yet
  };

  [[nodiscard]] static http::Response answer_to(const Question& question);
  void run(const CallPointer& call, const Question& question);

  Poller& poller_;
  Turn& turn_;
  std::deque<Pending> pending_;  ///< used in the thread of the main loop only

  std::mutex mutex_;  ///< protects all the following
  bool is_closed_ = false;
  std::set<CallPointer> calls_;
};

}  // namespace millrace::server
