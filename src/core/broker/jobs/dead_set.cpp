#include "core/broker/jobs/dead_set.hpp"

namespace millrace {

void DeadSet::purge(Time now) {
  // Only work units: buried beanstalk jobs stay until a client kicks or deletes them.
  for (std::size_t purged = 0; purged < kSliceJobs && next_due() <= now; ++purged) {
    ++tally_.dead_purged;
    moves_.remove(store_.jobs().at(store_.jobs().orders().dead_work_units().begin()->slot),
                  JobEnd::kGone, now);
  }
}

Time DeadSet::next_due() const {
  const TimeOrder& dead = store_.jobs().orders().dead_work_units();
  if (dead.empty()) return kNever;
  // Too many are due at once, whatever their age.
  if (dead.size() > jobs_max_) return kAtOnce;
  return dead.begin()->when + kDeadLimit;
}

}  // namespace millrace
