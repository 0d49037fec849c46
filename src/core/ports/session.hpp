#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/long_text.hpp"
#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// How something that a client waited for ended.
struct Delivery {
  enum class Kind {
    kJob,           ///< `job` is now reserved for the client
    kTimedOut,      ///< the wait is over and nothing came
    kDeadlineSoon,  ///< a job that the client holds has less than the safety margin left
    kFinished,      ///< a long operation (kick, flush, ...) is through; `count` jobs were moved
    kNoRoom,        ///< at once: there is a job, and no room to record its holder
    kEvicted,       ///< the worker stopped beating: close the connection (FWP)
  };
  Kind kind;
  const Job* job = nullptr;  ///< valid during the call only
  std::uint64_t count = 0;
};

/// A session leaves the rest of its input alone while this much output waits to be taken, so that
/// small commands with large replies cannot fill the memory. A client brings so much, or one reply,
/// before the next one has its turn. With 200 clients a round takes 8 ms (`bench long-lines`); it
/// took 18 ms with 256 KiB, and one client read no faster.
inline constexpr std::size_t kOutputBytesPause = 32 * 1024;

/// The part of a session's work for which the bytes that arrive are enough: where the client's
/// socket has a thread of its own, it is done there. The session picks the results up in `receive`.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  /// The next bytes of the client: all that the session has not received yet. Not called while the
  /// session receives.
  virtual void read(std::string_view bytes) = 0;
};

/// One connection's conversation in one protocol: bytes in, bytes out, no socket and no clock.
///
/// Its driver (a connection, or a test) calls `start` once, then `receive` for what arrived,
/// `end_of_input` when no more can come, and `resume` whenever `wants_resume` says so: after the
/// broker delivered to a blocked session, and after output was taken. It takes the output away and
/// sends it once everything that the broker recorded so far is durable, or at least what the output
/// tells of (`output_needs`). Replies are in the order of their commands.
class Session {
 public:
  virtual ~Session() = default;

  /// Before anything else: what reads ahead for this session. Null: there is no use in it.
  [[nodiscard]] virtual std::unique_ptr<ReadAhead> make_read_ahead() { return nullptr; }

  /// Says the greeting, if the protocol has one.
  virtual void start(Time now) = 0;

  /// Takes all of `bytes`. What cannot be executed yet (half a command, or anything after a
  /// command that still waits) is kept; the session stops wanting input before that exceeds its
  /// limit.
  virtual void receive(std::string_view bytes, Time now) = 0;

  /// Executes what was kept, as far as possible.
  virtual void resume(Time now) = 0;

  /// The client will send nothing more: what waits is answered, what was sent is executed, and then
  /// the session wants to close.
  virtual void end_of_input(Time now) = 0;

  /// The broker's answer to what this session waits for. Called from inside a broker operation, so
  /// it may only read and render: what follows is done by the next `resume`.
  virtual void deliver(const Delivery& delivery, Time now) = 0;

  /// So many further bytes of the output were handed over for the client. Output not reported as
  /// sent before `close` was lost; the session may undo what only that output announced.
  virtual void sent(std::size_t /*bytes*/) {}

  /// The client or the network has ended the connection, and `close` follows. If it comes without
  /// this and without `end_of_input`, the server has ended it.
  virtual void note_broken() {}

  /// The connection is gone: leaves the broker. Nothing is called afterwards.
  virtual void close(Time now) = 0;

  /// False while enough is kept: the driver then leaves further bytes in the socket.
  [[nodiscard]] virtual bool wants_input() const = 0;

  /// How many bytes of input are kept.
  [[nodiscard]] virtual std::size_t kept_bytes() const { return 0; }

  /// True when `resume` would get further.
  [[nodiscard]] virtual bool wants_resume() const = 0;

  /// True while a command is executed in the background or in several turns, so that there will be
  /// more to resume, though nothing else may happen.
  [[nodiscard]] virtual bool is_at_work() const { return false; }

  /// True when the connection is to be closed after the output so far was sent.
  [[nodiscard]] virtual bool wants_close() const = 0;

  /// When the driver should close the connection without a word (handshake limit), or kNever.
  [[nodiscard]] virtual Time close_at() const { return kNever; }

  /// When the driver should call `resume` though nothing happened, or kNever.
  [[nodiscard]] virtual Time wake_at() const { return kNever; }

  /// The rendered replies that were not taken yet.
  [[nodiscard]] const std::string& output() const { return output_; }

  /// How much of the log must be durable before they may leave: kWholeLog, unless all of them only
  /// hand out jobs, or tell that none came. These need the jobs, and not the reservations.
  [[nodiscard]] Lsn output_needs() const {
    return job_bytes_ == output_.size() ? job_needs_ : kWholeLog;
  }

  /// Takes them. The session continues to render into the buffer of `spare`, which must be
  /// empty.
  [[nodiscard]] std::string take_output(std::string spare = {}) {
    CHECK(spare.empty());
    taken_bytes_ += output_.size();
    job_bytes_ = 0;
    job_needs_ = 0;
    output_.swap(spare);
    return spare;
  }

  /// How much of a long reply was not rendered yet.
  [[nodiscard]] virtual std::size_t unrendered_bytes() const { return long_reply_.size(); }

  /// How many bytes were rendered since the session began, taken or not.
  [[nodiscard]] std::uint64_t output_end() const { return taken_bytes_ + output_.size(); }

 protected:
  /// What was rendered since the output had `begin` bytes hands out a job, or tells that none came.
  /// It needs so much of the log (`Ledger::needed_for`).
  void need_only(Lsn needs, std::size_t begin) {
    if (needs == kWholeLog) return;
    job_bytes_ += output_.size() - begin;
    job_needs_ = std::max(job_needs_, needs);
  }

  /// Begins a reply of megabytes, which needs so much of the log. Until `has_long_reply` is false
  /// nothing else may be rendered.
  void begin_long_reply(LongText&& reply, Lsn needs) {
    CHECK(!has_long_reply());
    long_reply_ = std::move(reply);
    long_reply_needs_ = needs;
    continue_long_reply();
  }
  void continue_long_reply() {
    const std::size_t begin = output_.size();
    if (begin >= kOutputBytesPause) return;
    long_reply_.take(kOutputBytesPause - begin, output_);
    need_only(long_reply_needs_, begin);
  }
  [[nodiscard]] bool has_long_reply() const { return long_reply_.size() > 0; }

  std::string output_;

 private:
  LongText long_reply_;
  Lsn long_reply_needs_ = kWholeLog;
  std::uint64_t taken_bytes_ = 0;
  std::size_t job_bytes_ = 0;  ///< of the output that was not taken, those of `need_only`
  Lsn job_needs_ = 0;          ///< what they need
};

/// Nor does it while the records of this turn have grown to so much (`Ledger::batch_bytes`): they
/// go to the journal first.
inline constexpr std::size_t kBatchBytesPause = std::size_t{1} << 20;

}  // namespace millrace
