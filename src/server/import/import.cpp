#include "server/import/import.hpp"

#include "server/import/faktory/import_faktory.hpp"
#include "server/import/import_binlog.hpp"

namespace millrace::server {

Outcome<Done> check_import(const ImportChoice& choice) {
  if (choice.beanstalkd.empty() && choice.faktory.empty()) {
    return Problem{"--beanstalkd or --faktory is required"};
  }
  if (!choice.beanstalkd.empty() && !choice.faktory.empty()) {
    return Problem{"--beanstalkd and --faktory: one at a time; the second one needs --merge"};
  }
  if (choice.into.empty()) return Problem{"--into is required"};
  if (choice.keeps_working && choice.faktory.empty()) {
    return Problem{"--keep-working needs --faktory"};
  }
  if (choice.ignores_other_keys && choice.faktory.empty()) {
    return Problem{"--ignore-other-keys needs --faktory"};
  }
  return Done{};
}

Outcome<JournalReport> import_jobs(const ImportChoice& choice) {
  return choice.faktory.empty() ? import_binlog(choice) : import_faktory(choice);
}

}  // namespace millrace::server
