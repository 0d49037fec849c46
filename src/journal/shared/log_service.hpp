#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace millrace::journal {

/// Counts the messages of a log service, from 1 and without gaps. 0 is before the first one.
using Sequence = std::uint64_t;

/// An engine that keeps one log for several servers: NATS JetStream, PostgreSQL, or a simulated
/// one. It stores opaque entries in one order that all servers agree on. `tests/engines` has the
/// contract that each of them passes.
///
/// An append names the sequence that the log must end with. So of two servers that both believe to
/// lead, only one gets through: that is the fence. What was stored stays stored: it survives the
/// loss of any minority of the engine's servers, and a power cut of all of them.
///
/// All calls come from one thread, except where it says otherwise. No call throws. A lost
/// connection is a problem of the call, or an answer `kUnknown`; the next call connects again by
/// itself. Problems name neither passwords nor tokens.
class LogService {
 public:
  /// An entry takes one message, or several where the engine bounds their length.
  struct Entry {
    Sequence first = 0;
    Sequence last = 0;
    std::string bytes;

    [[nodiscard]] Sequence message_count() const { return last + 1 - first; }
    /// What that message has of the bytes. The split follows from the numbers alone, so an entry
    /// that is sent again over another connection is split as before.
    [[nodiscard]] std::string_view part(Sequence message) const {
      const std::size_t size = (bytes.size() + message_count() - 1) / message_count();
      return std::string_view(bytes).substr((message - first) * size, size);
    }
  };

  struct Extent {
    Sequence begin = 1;  ///< the oldest message that is there; `last + 1` when there is none
    Sequence last = 0;   ///< the newest message that was ever stored
  };

  /// A part of the log, read in order.
  struct Chunk {
    std::vector<Entry> entries;  ///< whole ones, oldest first
    /// Everything up to here was looked at, and `follow` goes on from here. It is beyond the last
    /// entry where an entry was begun: that ends later, or never, since its writer was refused in
    /// the middle. In that case it does not exist.
    Sequence seen = 0;
    bool is_trimmed = false;  ///< messages after `after` are gone: `entries` is empty
  };

  enum class Refusal {
    kConflict,  ///< the log ends elsewhere; the entry was not stored by this append
    kUnknown,   ///< no answer came: the entry was stored, will be stored, or never will be
    /// It was numbered when the engine took longer messages, so it will never be stored. Nor will
    /// those behind it; those before it are unknown.
    kTooLong,
  };
  /// What became of an append.
  struct Answer {
    Sequence last = 0;  ///< as `append` answered it
    std::optional<Refusal> refusal;
    std::string problem;  ///< why an append is unknown, where the engine said so: one line
  };

  using Duration = std::chrono::nanoseconds;

  virtual ~LogService() = default;

  /// How many messages an entry of that length takes that is numbered now. The engine may take
  /// shorter or longer ones later, over another connection. From any thread.
  [[nodiscard]] virtual Sequence message_count(std::size_t bytes) const = 0;

  /// What is stored. Waits for the engine for at most `kAnswerMax`. Not stale: it has every entry
  /// whose append was answered to any server before the call.
  [[nodiscard]] virtual Outcome<Extent> extent() = 0;

  /// The entries after that message: at least one when there is one, and no more than about
  /// `bytes_max` bytes. Returns when something is there, after `longest`, or soon after `wake`. May
  /// be stale for a moment, so an empty chunk does not prove that nothing was stored.
  [[nodiscard]] virtual Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                              Duration longest) = 0;

  /// Begins to store an entry (1 byte to 1.3 GiB) in these messages, of which there are as many as
  /// `message_count` said when it was numbered. The log must end right before it. Any number may be
  /// in flight, each right behind the one before it. Never waits for an answer, but may wait for
  /// the network to take the bytes: no lock may be held.
  virtual void append(Entry entry) = 0;

  /// The same for an entry that is numbered just now. Answers its last message.
  Sequence append(Sequence expected_last, std::string bytes) {
    const Sequence last = expected_last + message_count(bytes.size());
    append({.first = expected_last + 1, .last = last, .bytes = std::move(bytes)});
    return last;
  }

  /// What became of appends since the last call, in their order; each is answered once, at the
  /// latest after `kAnswerMax`. After one that was refused, all that were begun before this call
  /// returned it are refused too. Returns when there is an answer, after `longest`, or soon after
  /// `wake`.
  [[nodiscard]] virtual std::vector<Answer> answers(Duration longest) = 0;

  /// Removes the messages before `before`, which is not beyond the last one. May take effect later,
  /// and in steps. Never removes the newest message. Of an entry that is removed in part, `follow`
  /// shows nothing.
  [[nodiscard]] virtual Outcome<Done> trim(Sequence before) = 0;

  /// Makes a call that waits return soon, or the next one. From any thread.
  virtual void wake() noexcept = 0;
};

/// An engine that does not answer within this time is taken for unreachable, and asked again.
inline constexpr LogService::Duration kAnswerMax = std::chrono::seconds(2);

}  // namespace millrace::journal
