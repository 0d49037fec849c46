#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::faktory {

/// Which jobs a MUTATE changes. The first of these that is there decides: jids; regexp, together
/// with jobtype; jobtype. Without any it changes all.
struct MutateFilter {
  std::vector<std::string> jids;
  std::string regexp;   ///< a glob in fact, over the whole JSON of the job as FETCH returns it
  std::string jobtype;  ///< alone: a glob too; with a regexp: the text itself

  [[nodiscard]] bool is_empty() const { return jids.empty() && regexp.empty() && jobtype.empty(); }
};

/// A longer glob is refused, since it is compared with many jobs.
inline constexpr std::size_t kGlobBytesMax = 1024;

/// The filter as a function for the broker; empty: all jobs match. `format` must outlive it. Texts
/// have times as `clock` shows them, also when that is set while the MUTATE runs.
[[nodiscard]] JobMatcher make_matcher(const MutateFilter& filter, const WorkUnitFormat& format,
                                      WallClock clock);

}  // namespace millrace::faktory
