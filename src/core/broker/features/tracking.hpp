#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/requests.hpp"
#include "core/model/features/track.hpp"
#include "core/model/refusal.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// What is known of jobs by their names (FWP TRACK). The state of a tracked job that is in memory
/// follows from the job. Its end is remembered for `kTrackLimit`, and so are values that clients
/// gave for jobs that are not tracked.
///
/// Clients choose names, so several tracked jobs may share one: the one that changed last is told
/// of, among the 64 that were pushed last. These are the ones whose names have the same hash.
class Tracking {
 public:
  /// All of them outlive this.
  Tracking(Ledger& ledger, const AdmissionControl& admission, const WorkUnitFormat& format)
      : ledger_(ledger), admission_(admission), format_(format) {}

  /// A job whose body cannot be read has no name, unless a worker holds it.
  [[nodiscard]] TrackView get(std::string_view jid) const;

  /// The tracked job of that name, or null.
  [[nodiscard]] const Job* find_job(std::string_view jid) const;

  /// Sets the values that are given, and keeps the others. Refused: no room.
  Answer<Done> set(const TrackUpdate& update, Time now);

  /// The tracked job ends now. While records must not grow, its end is not remembered.
  void end(const Job& job, JobEnd end, Time now);

  /// Removes at most a slice of the tracks that were kept for long enough.
  void remove_due(Time now);
  [[nodiscard]] Time next_due() const;

 private:
  [[nodiscard]] bool is_named(const Job& job, std::string_view jid) const;
  [[nodiscard]] const Tracks& tracks() const { return ledger_.store().tracks(); }
  /// That the job of that name has ended so.
  void remember(std::string_view jid, JobEnd end, Time now);
  void remove_oldest_ended();
  void keep_limit();

  Ledger& ledger_;
  const AdmissionControl& admission_;
  const WorkUnitFormat& format_;
};

}  // namespace millrace
