#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/meter.hpp"
#include "core/ports/journal.hpp"

namespace millrace {

/// A journal over a log that several servers share. One of them leads: it appends. The others
/// follow: they apply what the leader appended, so that one of them can take over.
///
/// A server comes to lead by `replay`, `follow` until it has applied everything, and `claim`. What
/// it appended and was not durable when another server claimed the lead is not in the log, and the
/// positions that it was given belong to other batches. So a deposed server must drop its state and
/// read the log anew, with a new journal.
///
/// A leader answers its clients only while `may_answer`: until the lease that began when it
/// appended what was stored last. A server that follows claims the lead when it has heard nothing
/// for longer than that. So no two servers answer at the same time, whatever the network does.
class SharedJournal : public Journal {
 public:
  /// What is known of the server that leads.
  struct Leader {
    Epoch epoch{};
    std::string node;
    std::string notes;          ///< as it gave them to its claim
    Time claimed_at{};          ///< by its clock
    bool has_released = false;  ///< it leads no more, and nobody else does yet
    /// No server leads, and none may claim: a command moves the jobs to this log, or away from it.
    bool holds = false;
  };

  /// One time that a server took the lead.
  struct Takeover {
    Epoch epoch{};
    Time at{};         ///< by the clock of the server that took it
    std::string from;  ///< the leader before; empty: none, or its name is not known
    std::string to;
    bool was_handed_over = false;  ///< the leader before had released the lead
    /// Since the last entry of the leader before, by the clocks of both; nullopt: there is none.
    std::optional<Duration> gap;
  };

  /// For people and metrics.
  struct Figures {
    std::uint64_t applied = 0;  ///< the last message that is applied, or, by a leader, stored
    Duration lease{};           ///< of the leader; none: not known
    std::optional<Duration> lease_left;  ///< of a server that leads
    std::size_t in_flight = 0;           ///< entries that are appended and not stored
    Histogram appends;                   ///< from an append until it is known to be stored
    Duration last_append{};              ///< how long the last one took
    std::uint64_t refused = 0;           ///< appends that found another end of the log
    std::uint64_t unknown = 0;           ///< appends without an answer, or with a failure
    std::uint64_t cache_bytes = 0;       ///< of the log on this server's disk
  };

  enum class Followed {
    kOn,  ///< everything that has arrived was handed over
    /// The log does not reach back to where this server is, or has another history than this server
    /// has read: read it anew.
    kUseless,
    kLeads,  ///< a claim of this server is in the log, and nothing after it has arrived
  };

  /// Hands every batch that has arrived since `replay` or the last call to `visitor`, oldest first.
  /// A problem: the log cannot be read, or the visitor had one. It is told again by each call.
  [[nodiscard]] virtual Outcome<Followed> follow(const Visitor& visitor) = 0;

  /// Whether everything was handed over, once, that the log had a second before.
  [[nodiscard]] virtual bool has_caught_up() const = 0;

  /// Whether this server may take the lead: everything that is in the log has been handed over,
  /// and nobody leads.
  [[nodiscard]] virtual bool may_claim() const = 0;

  /// Begins to take the lead, in a new epoch. `follow` tells what became of it: the claim is stored
  /// only where the log has nothing that was not handed over.
  virtual void claim() = 0;

  /// While this server leads: keeps the lease, where nothing was appended for a part of it. To be
  /// called at `next_beat`.
  virtual void beat() = 0;
  [[nodiscard]] virtual Time next_beat() const = 0;

  /// While this server leads: when its lease will have been over for so long that another server
  /// leads by then, unless something is stored before.
  [[nodiscard]] virtual Time lost_at() const = 0;

  /// The last thing that this server appends: another one may claim the lead at once.
  virtual void release() = 0;

  /// The latest time in the log, by the clocks of those who wrote it.
  [[nodiscard]] virtual Time latest_time() const = 0;

  /// nullopt: nobody has ever led.
  [[nodiscard]] virtual std::optional<Leader> leader() const = 0;

  /// Why the log cannot be reached at present: one line; empty when it can.
  [[nodiscard]] virtual std::string problem() const = 0;

  [[nodiscard]] virtual Figures figures() const = 0;

  /// The last `kTakeoversMax` in the part of the log that is kept, oldest first.
  [[nodiscard]] virtual const std::vector<Takeover>& takeovers() const = 0;
  static constexpr std::size_t kTakeoversMax = 20;
};

}  // namespace millrace
