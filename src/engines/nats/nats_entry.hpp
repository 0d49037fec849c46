#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// What the header `Millrace-Entry` of a message says: `RUN KNOWN PART/PARTS`.
///
/// A run is a line of appends of one writer, none of which was refused. The server checks only the
/// sequence that each message expects. So when another server's message takes the place of a
/// refused one, the next message of the refused run fits again, and is stored. `known` tells them
/// apart: such a message does not belong to the log.
struct NatsEntryHeader {
  std::string run;
  /// The writer knew that everything up to here is stored and does not change.
  journal::Sequence known = 0;
  std::uint32_t part = 1;
  std::uint32_t parts = 1;

  bool operator==(const NatsEntryHeader&) const = default;
};

/// A longer entry does not exist: no writer makes one.
inline constexpr std::size_t kNatsEntryBytesMax = std::size_t{2} << 30;

inline constexpr const char* kNatsEntryHeader = "Millrace-Entry";

/// How many messages an entry takes, of which none is longer than that.
[[nodiscard]] journal::Sequence nats_message_count(std::size_t bytes, std::size_t part_bytes_max);

[[nodiscard]] std::string to_text(const NatsEntryHeader& header);
/// nullopt: the message is not from a writer of a log.
[[nodiscard]] std::optional<NatsEntryHeader> parse_nats_entry_header(std::string_view text);

/// Puts entries together from the messages of a log, in order and without gaps. An entry exists
/// when its last part belongs to the log: when all messages between the one its writer knew and
/// itself are from the same run.
class NatsEntryAssembler {
 public:
  struct Start {
    journal::Sequence next = 1;  ///< the first message that `add` gets
    /// Nothing before it is there to look at.
    bool is_beginning = true;
    /// Entries that end before this message are not wanted.
    journal::Sequence wanted_from = 1;
  };
  void begin(Start start);

  enum class Step {
    kMore,       ///< nothing is complete yet
    kEntry,      ///< `take` has an entry
    kLooksBack,  ///< what came before decides: begin again with the message `from`
  };
  struct Verdict {
    Step step = Step::kMore;
    journal::Sequence from = 0;
  };

  /// The message `next()`. Without a header it is no part of anything.
  [[nodiscard]] Verdict add(const std::optional<NatsEntryHeader>& header, std::string_view bytes);
  [[nodiscard]] journal::LogService::Entry take();
  [[nodiscard]] journal::Sequence next() const { return next_; }
  [[nodiscard]] journal::Sequence wanted_from() const { return start_.wanted_from; }

 private:
  void collect(const NatsEntryHeader& header, std::string_view bytes);
  [[nodiscard]] Verdict judge(const NatsEntryHeader& last_part);

  Start start_;
  journal::Sequence next_ = 1;
  std::string run_;                  ///< of the last message
  journal::Sequence run_begin_ = 1;  ///< since when all messages are from that run
  std::uint32_t parts_ = 0;          ///< of the open entry, so far
  journal::LogService::Entry open_;
};

}  // namespace millrace::engines
