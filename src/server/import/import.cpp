#include "server/import/import.hpp"

#include "server/import/import_binlog.hpp"

namespace millrace::server {

Outcome<Done> check_import(const ImportChoice& choice) {
  if (choice.beanstalkd.empty()) return Problem{"--beanstalkd is required"};
  if (choice.into.empty()) return Problem{"--into is required"};
  return Done{};
}

Outcome<JournalReport> import_jobs(const ImportChoice& choice) {
  return import_binlog(choice);
}

}  // namespace millrace::server
