#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::faktory {

/// Which jobs a MUTATE is about. The first that is there decides: jids, then regexp (and jobtype),
/// then jobtype; without any it is about all.
struct JobFilter {
  std::vector<std::string> jids;
  std::string regexp;   ///< in truth a glob, over the whole JSON of the job as FETCH returns it
  std::string jobtype;  ///< alone: a glob too; beside a regexp: the text itself

  [[nodiscard]] bool is_empty() const { return jids.empty() && regexp.empty() && jobtype.empty(); }
};

/// A glob longer than this is refused: it is compared with many jobs.
inline constexpr std::size_t kGlobBytesMax = 1024;

/// The filter as the broker asks it; empty when it is about all. `format` must outlive the result.
[[nodiscard]] std::function<Match(const Job& job, const Queue& queue, Steps& steps)> make_matcher(
    const JobFilter& filter, const WorkUnitFormat& format);

}  // namespace millrace::faktory
