#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker.hpp"
#include "core/session.hpp"
#include "core/types.hpp"
#include "faktory/auth.hpp"
#include "faktory/command.hpp"
#include "faktory/door.hpp"
#include "faktory/line_buffer.hpp"

namespace millrace::faktory {

/// The handshake must be over by then (reference server: 2 s).
inline constexpr Duration kHandshakeLimit = 2s;

/// HELLO cannot be longer; who sends more is no worker, and has no password yet.
inline constexpr std::size_t kHelloBytesMax = 16 * 1024;

/// How long FETCH waits for a job. The reference waits 2 s; a little less, since some clients stop
/// reading after 2 s and would take this reply for that of their next command.
inline constexpr Duration kFetchWait = 1950ms;

/// While a command waits, so much of what comes behind it is kept before input is left in the
/// socket.
inline constexpr std::size_t kPipelinedBytesMax = 64 * 1024;

/// One FWP connection.
class FwpSession final : public Session {
 public:
  explicit FwpSession(DoorState& door);

  void start(Time now) override;
  void receive(std::string_view bytes, Time now) override;
  void resume(Time now) override;
  void end_of_input(Time now) override;
  void deliver(const Delivery& delivery, Time now) override;
  void close(Time now) override;

  [[nodiscard]] bool wants_input() const override;
  [[nodiscard]] bool wants_resume() const override;
  [[nodiscard]] bool wants_close() const override { return is_closing_; }
  [[nodiscard]] Time close_at() const override { return close_at_; }
  [[nodiscard]] std::string& output() override { return output_; }

 private:
  enum class Waiting { kNothing, kJob, kFlush };

  /// A job of a PUSHB that is not put yet. It owns what its parts view.
  struct BulkJob {
    std::string jid;
    std::string queue;
    std::string body;
    NewJob job;
  };

  /// A PUSHB at work. Long ones are done in slices between other clients' commands.
  struct Bulk {
    std::vector<BulkJob> jobs;
    std::size_t done = 0;
    std::map<std::string, std::string> faults;  ///< jid to text
  };

  [[nodiscard]] bool can_execute() const;
  void execute(Time now);
  void execute_line(const LineBuffer::Line& line, Time now);
  void shake_hands(const LineBuffer::Line& line, Time now);
  [[nodiscard]] bool knows_password(const Hello& hello) const;

  void handle(const Push& push, Time now);
  void handle(const PushBulk& push, Time now);
  void handle(const Fetch& fetch, Time now);
  void handle(const Ack& ack, Time now);
  void handle(const Fail& fail, Time now);
  void handle(const Beat& beat, Time now);
  void handle(const Info& info, Time now);
  void handle(const Flush& flush, Time now);
  void handle(const PauseQueues& queues, Time now);
  void handle(const Track& track, Time now);
  void handle(const Batch& batch, Time now);
  void handle(const End& end, Time now);

  void push_slice(Time now);
  [[nodiscard]] bool is_told_to_stop() const;
  void answer_fetch(const Delivery& delivery);

  DoorState& door_;
  LineBuffer lines_;
  std::string output_;
  std::optional<Challenge> challenge_;
  ClientId client_ = 0;  ///< 0 until the handshake is over
  std::string wid_;      ///< empty: a producer
  Waiting waiting_ = Waiting::kNothing;
  std::optional<Bulk> bulk_;
  Time close_at_ = kNever;
  bool is_input_over_ = false;
  bool is_closing_ = false;
};

}  // namespace millrace::faktory
