#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "core/ports/journal.hpp"

namespace millrace::journal {

/// A log service in memory, for tests: what several servers would share. What it has stored is
/// durable.
///
/// Each append says where it expects the log to end. Of two servers that both believe to lead, only
/// one gets through: this is the fence, as with a message broker's expected sequence or a table's
/// primary key. The epoch in an entry says whose it is.
class SharedLog {
 public:
  /// A batch, or a claim of the lead, which has none.
  struct Entry {
    Lsn at = 0;  ///< the batch is kEntryHeaderBytes after it
    Epoch epoch{};
    std::string batch;

    [[nodiscard]] Lsn batch_begin() const;
    [[nodiscard]] Lsn end() const { return batch_begin() + batch.size(); }
  };

  enum class AppendRefusal {
    kConflict,  ///< the log ends elsewhere; nothing was stored
    kUnknown,   ///< the answer was lost: the entry was stored, or was not
  };

  /// Answers where the log ends then.
  Result<Lsn, AppendRefusal> append(Lsn expected_end, Epoch epoch, std::string batch);

  /// Removes the entries that end at `before` or earlier; the request of an old epoch does nothing.
  void trim(Epoch epoch, Lsn before);

  /// Oldest first.
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }
  /// The entry that contains [begin, begin + size) in its batch; null when there is none.
  [[nodiscard]] const Entry* find(Lsn begin, std::size_t size) const;

  [[nodiscard]] Lsn begin() const { return entries_.empty() ? end_ : entries_.front().at; }
  [[nodiscard]] Lsn end() const { return end_; }
  /// Of the last claim.
  [[nodiscard]] Epoch epoch() const { return epoch_; }

  enum class Loss {
    kNone,
    kRequest,  ///< the append never reaches the log
    kAnswer,   ///< the entry is stored, and nobody hears of it
  };
  /// What is lost of the next append; may be empty.
  std::function<Loss()> loss;

  /// For tests of the tests: a log that stores whatever comes, at its end.
  bool checks_expected_end = true;

 private:
  std::deque<Entry> entries_;
  Lsn end_ = 0;
  Epoch epoch_{};
};

/// What an entry takes in the log besides its batch.
inline constexpr std::uint64_t kEntryHeaderBytes = 8;

}  // namespace millrace::journal
