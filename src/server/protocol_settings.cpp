#include "server/protocol_settings.hpp"

#include "server/process/process.hpp"

namespace millrace::server {

beanstalk::Settings beanstalk_settings(const Server::Options& options, const Journal& journal) {
  const HostFacts facts = host_facts();
  beanstalk::Settings settings;
  settings.job_bytes_max = options.job_bytes_max();
  settings.binlog_bytes_max = options.binlog_bytes_max;
  settings.instance_id = random_instance_id();
  settings.hostname = facts.hostname;
  settings.os = facts.os;
  settings.platform = facts.platform;
  settings.pid = process_id();
  settings.usage = process_usage;
  if (!options.config.is_volatile) {
    settings.binlog = [&journal]() -> beanstalk::Binlog {
      const Journal::Extent log = journal.extent();
      return {.oldest = log.begin, .current = log.newest_begin};
    };
  }
  return settings;
}

faktory::Settings faktory_settings(const Server::Options& options) {
  faktory::Settings settings;
  settings.password = options.secrets.password;
  settings.line_bytes_max = options.line_bytes_max;
  settings.connections_max = options.config.connections_max;
  settings.description = options.config.description;
  settings.random = random_number;
  settings.used_memory_mb = used_memory_mb;
  return settings;
}

}  // namespace millrace::server
