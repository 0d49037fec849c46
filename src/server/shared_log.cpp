#include "server/shared_log.hpp"

#include <openssl/x509.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "engines/log_url.hpp"
#include "engines/open.hpp"
#include "journal/shared/cache_directory.hpp"
#include "server/options/password.hpp"
#include "server/process/line_writer.hpp"
#include "server/process/process.hpp"
#include "server/relay/leader_address.hpp"

namespace millrace::server {
namespace {

bool is_any_host(const std::string& host) {
  return host == "0.0.0.0" || host == "::" || host.empty();
}

/// `name=address`. A port on loopback is another one for each reader.
std::string advertised(const OwnPort& port, const MachineNames& names) {
  Address shown = port.address;
  std::string name = port.name;
  if (const std::string& host = names.advertised; !host.empty()) {
    shown.host = without_brackets(host);
  } else if (port.is_local) {
    name = std::string(kLocalPrefix) + name;
  } else if (is_any_host(shown.host)) {
    shown.host = names.hostname;
  }
  return name + "=" + shown.text();
}

/// OpenSSL's own default is a file on some systems, a directory on others, Debian among them.
std::string system_certificates() {
  if (const auto chosen = environment_variable(X509_get_default_cert_file_env())) return *chosen;
  std::error_code ignored;
  const char* usual = X509_get_default_cert_file();
  return std::filesystem::exists(usual, ignored) ? usual : "/etc/ssl/certs/ca-certificates.crt";
}

engines::Options without_password(const Config& config) {
  engines::Options options;
  options.allows_unsynced = config.allows_unsynced_log;
  options.credentials_file = config.log_credentials_file;
  options.ca_file = config.log_ca_file;
  options.system_ca_file = system_certificates();
  options.certificate_file = config.log_certificate_file;
  options.key_file = config.log_key_file;
  return options;
}

Outcome<engines::Options> engine_options(const Config& config) {
  engines::Options options = without_password(config);
  if (config.log_password_file.empty()) return options;
  const auto file = read_password_file(config.log_password_file);
  if (!file) return file.error();
  options.password = file->password;
  return options;
}

Outcome<Done> refuse_journal(journal::FileSystem& files, const Config& config) {
  const auto content = journal::look_into(files, config.data);
  if (!content) return content.error();
  const bool has_journal = *content == journal::DirectoryContent::kJournal ||
                           *content == journal::DirectoryContent::kMoved;
  if (!has_journal) return Done{};
  return Problem{config.data +
                 " holds the jobs of a server without --log: start with another --data; or first "
                 "move them with `millrace move-to-log`"};
}

Outcome<Done> prepare_cache(journal::FileSystem& files, const Config& config) {
  const auto content = journal::look_into(files, config.data);
  if (!content) return content.error();
  if (*content == journal::DirectoryContent::kCache) return Done{};
  if (*content == journal::DirectoryContent::kBrokenCache) {
    return journal::empty_cache(files, config.data);
  }
  return journal::mark_as_cache(files, config.data);
}

/// What a journal over a shared log is made of.
struct SharedParts {
  const Config& config;
  journal::FileSystem& files;
  Clock& clock;
  const Log& log;
  std::string ports;
  bool holds = false;
};

using SharedOpened = Outcome<std::unique_ptr<journal::ReplicatedJournal>>;

/// The directory stays as it is where the log cannot be used: so the engine was asked before.
SharedOpened open_over(const SharedParts& parts, std::unique_ptr<journal::LogService> service) {
  const Config& config = parts.config;
  if (auto prepared = prepare_cache(parts.files, config); !prepared) return prepared.error();
  journal::FileJournalOptions cache_options;
  cache_options.sync_mode = journal::SyncMode::kOff;
  cache_options.segment_bytes = config.segment_bytes;
  cache_options.on_failure = [&log = parts.log, &files = parts.files,
                              directory = config.data](const Problem& problem) {
    (void)wait_for_reader(STDERR_FILENO);
    log.event("cache_failed", {{"problem", problem.text}});
    // The next start fills it anew.
    journal::mark_as_broken(files, directory);
    journal::end_process();
  };
  auto cache = journal::FileJournal::open(parts.files, config.data, std::move(cache_options));
  if (!cache) return cache.error();
  journal::ReplicatedJournalOptions shared;
  shared.node = config.node;
  shared.notes = parts.ports;
  shared.writer = random_name();
  shared.log = random_name();
  shared.lease = config.lease;
  shared.holds = parts.holds;
  shared.now = [&clock = parts.clock] { return clock.now(); };
  return std::make_unique<journal::ReplicatedJournal>(std::move(*cache), std::move(service),
                                                      std::move(shared));
}

}  // namespace

std::uint64_t random_name() {
  const std::uint64_t drawn = random_number();
  return drawn == 0 ? 1 : drawn;
}

Outcome<std::unique_ptr<journal::LogService>> open_log(const Config& config) {
  const Outcome<engines::Options> options = engine_options(config);
  if (!options) return options.error();
  return engines::open_log_service(config.log, *options);
}

void note_exposure(const Config& config, const Log& log) {
  const std::string exposure = engines::exposure_of(config.log, without_password(config));
  if (!exposure.empty()) log.event("log_exposed", {{"problem", exposure}});
  // Each try to reach the engine reads it, and tells what is wrong with it.
  if (!config.log_password_file.empty()) (void)read_password_file(config.log_password_file, log);
}

std::string advertised_ports(const std::vector<OwnPort>& ports, const MachineNames& names) {
  std::string text;
  for (const OwnPort& port : ports) {
    if (!port.address.is_unix()) text += advertised(port, names) + " ";
  }
  if (!names.loopback.empty()) text += std::string(kLoopbackWord) + "=" + names.loopback + " ";
  return text + std::string(kReportsWord) + "=2";
}

Outcome<Done> refuse_cache(journal::FileSystem& files, const Config& config) {
  const auto content = journal::look_into(files, config.data);
  if (!content) return content.error();
  if (*content == journal::DirectoryContent::kMoved) {
    return Problem{"the jobs of " + config.data +
                   " were moved to a shared log: start with --log and another --data; or, if no "
                   "server has ever used that log, remove the file " +
                   config.data + "/moved"};
  }
  const bool is_cache = *content == journal::DirectoryContent::kCache ||
                        *content == journal::DirectoryContent::kBrokenCache;
  if (!is_cache) return Done{};
  return Problem{config.data +
                 " is a cache of a log that several servers share: start with --log; or stop them "
                 "all, and move the jobs with `millrace move-to-file`"};
}

Outcome<std::unique_ptr<journal::ReplicatedJournal>> open_shared_journal(const Config& config,
                                                                         journal::FileSystem& files,
                                                                         Clock& clock,
                                                                         const Log& log,
                                                                         const std::string& ports) {
  if (auto fit = refuse_journal(files, config); !fit) return fit.error();
  auto service = open_log(config);
  if (!service) return service.error();
  // Before the cache is read, which takes a while.
  if (const auto extent = (*service)->extent(); !extent) return extent.error();
  return open_over({.config = config, .files = files, .clock = clock, .log = log, .ports = ports},
                   std::move(*service));
}

Outcome<std::unique_ptr<journal::ReplicatedJournal>> open_holding_journal(
    const Config& config, journal::FileSystem& files, Clock& clock, const Log& log,
    std::unique_ptr<journal::LogService> service) {
  return open_over(
      {.config = config, .files = files, .clock = clock, .log = log, .ports = {}, .holds = true},
      std::move(service));
}

}  // namespace millrace::server
