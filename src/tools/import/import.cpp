#include "tools/import/import.hpp"

#include "tools/directory/owner.hpp"
#include "tools/directory/places.hpp"
#include "tools/directory/unfinished.hpp"
#include "tools/import/drain/import_running.hpp"
#include "tools/import/faktory/import_faktory.hpp"
#include "tools/import/import_binlog.hpp"

namespace millrace::tools {

Outcome<Done> check_import(const ImportChoice& choice) {
  const int sources = !choice.beanstalkd.empty() + !choice.faktory.empty() + !choice.from.empty();
  if (sources == 0) return Problem{"--beanstalkd, --faktory or --from is required"};
  if (sources > 1) {
    return Problem{
        "give one of --beanstalkd, --faktory and --from; then run it again for the next one, with "
        "--merge"};
  }
  if (choice.into.empty()) return Problem{"--into is required"};
  if (choice.skips_damage && choice.beanstalkd.empty()) {
    return Problem{"--skip-damage needs --beanstalkd"};
  }
  if (choice.keeps_working && choice.faktory.empty()) {
    return Problem{"--keep-working needs --faktory"};
  }
  if (choice.ignores_other_keys && choice.faktory.empty()) {
    return Problem{"--ignore-other-keys needs --faktory"};
  }
  if (!choice.ca_file.empty() && !choice.faktory.starts_with("rediss://")) {
    return Problem{"--ca needs --faktory rediss://HOST"};
  }
  return Done{};
}

Outcome<JournalReport> import_jobs(const ImportChoice& choice) {
  // An import itself may be gone on with.
  if (auto ended = refuse_unfinished_restore(choice.into); !ended) return ended.error();
  for (const std::string& source : {choice.beanstalkd, choice.faktory}) {
    if (source.empty()) continue;
    if (auto apart = refuse_inside(choice.into, source); !apart) return apart.error();
  }
  auto report = !choice.from.empty()     ? import_running(choice)
                : choice.faktory.empty() ? import_binlog(choice)
                                         : import_faktory(choice);
  if (report) report->text += owner_warning(choice.into);
  return report;
}

}  // namespace millrace::tools
