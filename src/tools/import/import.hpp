#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/directory/check.hpp"

namespace CLI {
class App;
}

namespace millrace::tools {

/// What `millrace import` is told.
struct ImportChoice {
  std::string beanstalkd;  ///< the directory of a binlog
  std::string faktory;     ///< see `FaktorySource`
  std::string from;        ///< see `BeanstalkAddress`
  std::string into;        ///< the data directory
  bool merges = false;     ///< `into` may have jobs already

  bool skips_damage = false;  ///< of a binlog, what can be read is taken

  // Of Faktory:
  bool keeps_working = false;       ///< workers hold the jobs that they hold there
  bool ignores_other_keys = false;  ///< the database may have keys of others
  std::string ca_file = {};         ///< certificates to trust in that of the Redis; empty: usual
  std::string redis_password = {};  ///< where the source has none
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";  ///< as PATH: for `redis-server`
  std::string temporary_folder = "/tmp";                     ///< where a snapshot is copied to
};

/// Takes the jobs of another server into the journal of a stopped one. Reports per queue and state
/// what was found and taken, and why not. `damage`: not all of the source could be read.
[[nodiscard]] Outcome<JournalReport> import_jobs(const ImportChoice& choice);

/// A fault of the command line; Done: there is none.
[[nodiscard]] Outcome<Done> check_import(const ImportChoice& choice);

/// Adds the command `import` with its options. `choice` must outlive it.
CLI::App* add_import_command(CLI::App& app, ImportChoice& choice);

/// The jobs of beanstalkd's binlog in `choice.beanstalkd`. They keep their ids in a directory that
/// had no jobs before; in others the same number is added to each.
[[nodiscard]] Outcome<JournalReport> import_binlog(const ImportChoice& choice);

/// The jobs of the running server `choice.from`, tube by tube: some are stored here, and when they
/// are on the disk, they are deleted there. A drain that was cut short goes on: a job that is here
/// already is only deleted there, unless that server was restarted meanwhile. Jobs that workers
/// hold stay there; then the report has a damage.
[[nodiscard]] Outcome<JournalReport> import_running(const ImportChoice& choice);

/// The jobs of Faktory's database at `choice.faktory`, what it has counted, and its paused queues.
/// It is not changed. A database that changes meanwhile is a problem.
[[nodiscard]] Outcome<JournalReport> import_faktory(const ImportChoice& choice);

}  // namespace millrace::tools
