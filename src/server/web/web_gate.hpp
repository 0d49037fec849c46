#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "http/kit/message.hpp"
#include "server/net/poller.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// How many changes wait for the disk at a time: one of each connection. More come only when
/// clients have given up while the disk does not respond.
inline constexpr std::size_t kWebChangesMax = 128;

/// Runs functions in the thread of the broker for another thread, and hands out their answers. The
/// answer to a change comes when everything recorded before it is durable, like every reply over
/// the job protocols. The answer to a read comes at once: the pages must show the state of a server
/// whose disk is the problem.
class WebGate final : public Responder {
 public:
  using Question = std::function<http::Response()>;
  /// Called once, in the thread of the main loop or of `ask`. nullopt: the gate was closed; a
  /// change may still have been made.
  using Answer = std::function<void(std::optional<http::Response>)>;

  WebGate(Poller& poller, Turn& turn) : poller_(poller), turn_(turn) {}

  /// Runs `question` in the thread of the main loop, soon. May be called from any thread.
  void ask(Question question, Answer answer);

  /// Called when the loop has ended: gives all pending answers, as done or as unknown, and answers
  /// nothing after that.
  void close(bool is_all_durable);

  /// True while no further change may wait for the disk. For questions.
  [[nodiscard]] bool is_full() const { return pending_.size() >= kWebChangesMax; }

  std::optional<Lsn> bind(Lsn lsn) override;

  /// Gives the answers that were bound to `durable` or to less.
  void let_go(Lsn durable);

  /// How many questions are run before clients of the job ports have their turn.
  static constexpr int kQuestionsPerTurn = 6;

 private:
  struct Call {
    Question question;
    Answer answer;
    http::Response response = {};
    std::optional<Lsn> lsn = {};  ///< nullopt: not bound to a batch yet
  };

  [[nodiscard]] static http::Response answer_to(const Question& question);
  void run();

  Poller& poller_;
  Turn& turn_;
  std::deque<Call> pending_;  ///< changes; used in the thread of the main loop only

  std::mutex mutex_;  ///< protects all the following
  bool is_closed_ = false;
  bool is_posted_ = false;  ///< `run` is to come
  std::deque<Call> asked_;
};

}  // namespace millrace::server
