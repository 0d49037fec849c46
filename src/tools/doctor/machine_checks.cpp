#include "tools/doctor/machine_checks.hpp"

#include <sys/resource.h>
#include <sys/timex.h>

#include <cstdint>

#include "http/kit/text.hpp"
#include "server/process/descriptors.hpp"

namespace millrace::tools {
namespace {

/// Fewer are soon used up by the workers of a few machines.
constexpr std::uint64_t kFilesWanted = 4096;

Finding look_at_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t files = limit.rlim_max;
  Finding finding{.check = "descriptors", .seen = {}};
  finding.seen = limit.rlim_max == RLIM_INFINITY ? "no limit of open files"
                                                 : http::grouped(files) + " files may be open";
  if (files >= kFilesWanted) return finding;
  const std::uint64_t own = server::kDescriptorsOfServer + server::kDescriptorsOfJournal;
  finding.means = "a server started from here serves at most " +
                  http::grouped(files > own ? files - own : 0) + " connections";
  finding.to_do = "raise the hard limit (ulimit -Hn, LimitNOFILE in the unit)";
  return finding;
}

/// The kernel knows whether something keeps its clock right.
Finding look_at_clock() {
  timex clock{};
  const int state = adjtimex(&clock);
  Finding finding{.check = "clock", .seen = "the clock is kept right"};
  if (state < 0) {
    finding.seen = "the system does not tell whether the clock is kept right";
    return finding;
  }
  if (state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0) {
    return finding;
  }
  finding.seen = "nothing keeps the clock of this machine right";
  finding.means = "jobs with a time and cron entries run when this clock says so";
  finding.to_do = "switch on chrony or systemd-timesyncd (in a container: of its host)";
  return finding;
}

}  // namespace

void check_machine(Findings& found) {
  found.push_back(look_at_descriptors());
  found.push_back(look_at_clock());
}

}  // namespace millrace::tools
