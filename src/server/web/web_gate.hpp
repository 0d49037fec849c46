#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "http/kit/message.hpp"
#include "server/net/loop.hpp"
#include "server/turn/commit_queue.hpp"

namespace millrace::server {

/// Carries questions of other threads to the broker's, and answers back. An answer to a change
/// leaves when everything recorded before it is durable, as every reply of the other doors does.
/// One that only reads leaves at once: a page must tell how the server is when its disk is the
/// trouble.
class WebGate final : public Participant {
 public:
  using Question = std::function<http::Response()>;

  WebGate(Loop& loop, CommitQueue& commits) : loop_(loop), commits_(commits) {}

  /// Runs `question` in the loop's thread. nullopt: no answer within `patience`, or the gate is
  /// closed; a change may have been made nevertheless. To be called from other threads than the
  /// loop's.
  [[nodiscard]] std::optional<http::Response> ask(std::chrono::seconds patience, Question question);

  /// The loop is over and everything is durable: answers who still waits, and nobody any more.
  void close();

  void resume(Time) override {}
  bool commit(Lsn lsn, Lsn durable) override;
  void send(Lsn durable) override;

  static constexpr auto kAnswerMax = std::chrono::seconds(20);

 private:
  struct Call;
  /// Shared by the thread that waits, which may give up, and the loop, which may never come to it.
  using CallPointer = std::shared_ptr<Call>;
  struct Pending {
    CallPointer call;
    http::Response response;
    std::optional<Lsn> lsn;  ///< nullopt: not bound to a batch yet
  };

  void run(const CallPointer& call, const Question& question);

  Loop& loop_;
  CommitQueue& commits_;
  std::deque<Pending> pending_;  ///< only the loop's thread touches it

  std::mutex mutex_;  ///< of all the following
  bool is_closed_ = false;
  std::set<CallPointer> calls_;
};

}  // namespace millrace::server
