#pragma once

#include <optional>

#include "core/ports/journal.hpp"

namespace millrace {

/// A journal over a log that several servers share. One of them leads: it appends. The others
/// follow: they apply what the leader appended, so that one of them can take over.
///
/// A server comes to lead by `replay`, `follow` until it has applied everything, and `claim`. What
/// it appended and was not durable when another server claimed the lead is not in the log, and the
/// positions that it was given belong to other batches. So a deposed server must drop its state and
/// read the log anew, with a new journal.
class SharedJournal : public Journal {
 public:
  /// Hands every durable batch at `from` or after it to `visitor`, oldest first, and answers where
  /// the log ends. nullopt: the log was trimmed beyond `from`, so the server must read it anew.
  /// A problem of the visitor stops it. Not while this server leads.
  [[nodiscard]] virtual Outcome<std::optional<Lsn>> follow(Lsn from, const Visitor& visitor) = 0;

  /// Why a server does not lead.
  enum class ClaimRefusal {
    kBehind,   ///< the log continues after what the server has applied: follow, then claim again
    kUnknown,  ///< the log did not answer: claim again
  };

  /// Makes this server the leader, in a new epoch, if the log ends at `applied`. So nobody leads
  /// without having applied everything. Afterwards no batch of an earlier epoch can be stored.
  [[nodiscard]] virtual Result<Epoch, ClaimRefusal> claim(Lsn applied) = 0;
};

}  // namespace millrace
