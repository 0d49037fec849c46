#pragma once

#include <cstddef>
#include <cstdint>

#include "core/broker.hpp"
#include "core/journal.hpp"

namespace millrace::server {

/// Keeps the log short: writes what is still needed of its oldest piece once more at its end, a
/// little in each turn, and lets the piece go. So it stays below twice what a log without anything
/// obsolete would need, and four pieces, whatever clients do.
class Cleaner {
 public:
  Cleaner(Broker& broker, Journal& journal) : broker_(broker), journal_(journal) {}

  /// One turn's share. To be called before the turn's batch is taken. True when another turn should
  /// follow though nothing else happens.
  bool work();

  /// Pieces let go since the process began.
  [[nodiscard]] std::uint64_t freed_pieces() const { return freed_pieces_; }

 private:
  [[nodiscard]] bool is_too_long(const Journal::Extent& log) const;
  [[nodiscard]] bool is_worth_it_when_full(const Journal::Extent& log);

  Broker& broker_;
  Journal& journal_;
  Lsn trim_to_ = 0;  ///< 0: nothing; else when the batch with the totals was taken
  std::uint64_t freed_pieces_ = 0;

  // Of the round through the whole log that a full disk is worth; 0: none yet.
  Lsn round_end_ = 0;
  std::uint64_t needed_at_round_ = 0;
};

/// Cleaning begins at three halves of what is needed, and two pieces, and then writes twice as much
/// as the clients do: at worst all that is needed stands before the first obsolete byte, and has
/// been written once more when the log is twice as long as what is needed.
inline constexpr std::uint64_t kCleanPace = 2;

/// What a turn writes at least, so that it comes to an end without clients too.
inline constexpr std::size_t kCleanBytesMin = std::size_t{64} << 10;

}  // namespace millrace::server
