#include "tools/doctor/directory_checks.hpp"

#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/show/times.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/posix/descriptor.hpp"
#include "server/foreign_jobs.hpp"
#include "tools/backup/backup_directory.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"
#include "tools/local/sync_probe.hpp"

namespace millrace::tools {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSyncsOfCheck = 60;
constexpr std::chrono::nanoseconds kSlowSync = 20ms;
/// No disk is so fast, but memory is, and a system that does not sync.
constexpr std::chrono::nanoseconds kNoSync = 4us;
constexpr std::uint64_t kRoomMinBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kRoomMinPercent = 10;
constexpr auto kMemoryFileSystem = 0x01021994;  // TMPFS_MAGIC

std::string size_text(std::uint64_t bytes) {
  if (bytes < std::uint64_t{1} << 30) return std::to_string(bytes >> 20) + " MiB";
  const std::uint64_t tenths = bytes / (std::uint64_t{1} << 30) * 10 +
                               bytes % (std::uint64_t{1} << 30) * 10 / (std::uint64_t{1} << 30);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Finding look_at_room(const std::string& directory) {
  struct statvfs facts {};
  Finding finding{.check = "disk", .seen = "the room of the disk is unknown"};
  if (statvfs(directory.c_str(), &facts) != 0 || facts.f_blocks == 0) return finding;
  const std::uint64_t free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  const std::uint64_t percent = std::uint64_t{facts.f_bavail} * 100 / facts.f_blocks;
  finding.seen = size_text(free_bytes) + " free, " + std::to_string(percent) + " % of the disk";
  if (free_bytes >= kRoomMinBytes && percent >= kRoomMinPercent) return finding;
  finding.means = "when the disk is full, new jobs are refused";
  finding.to_do = "free space, or give the directory a larger disk";
  return finding;
}

Outcome<Finding> look_at_syncs(const std::string& directory) {
  const auto times = measure_syncs(directory, kSyncsOfCheck);
  if (!times) return times.error();
  Finding finding{.check = "sync", .seen = {}};
  finding.seen = "a sync takes " + milliseconds_text(times->median) + " (median of " +
                 std::to_string(times->count) + "), " + milliseconds_text(times->longest) +
                 " at most";
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) == 0 && facts.f_type == kMemoryFileSystem) {
    finding.seen = "the directory is in memory (tmpfs)";
    finding.means = "all jobs are lost when the machine restarts";
    finding.to_do = "put it on a disk";
  } else if (times->median < kNoSync) {
    finding.means = "no disk is so fast: something may swallow syncs, and a power cut lose jobs";
    finding.to_do = "ask whoever runs the storage whether fsync reaches it";
  } else if (times->median > kSlowSync) {
    finding.means = "a client that waits for each reply puts at most " +
                    std::to_string(std::max<std::int64_t>(1, 1s / times->median)) +
                    " jobs a second";
    finding.to_do = "use a faster disk, more connections, or --sync interval:MS";
  }
  return finding;
}

Finding look_at_owner(const std::string& directory, const struct stat& facts) {
  Finding finding{.check = "owner", .seen = "belongs to " + name_of_user(facts.st_uid)};
  journal::PosixFileSystem files;
  const auto names = journal::names_in(files, directory);
  for (const Lsn first : names ? names->segments : std::vector<Lsn>()) {
    struct stat segment {};
    const std::string name = journal::segment_name(first);
    if (stat(http::concat(directory, "/", name).c_str(), &segment) != 0) continue;
    if (segment.st_uid == facts.st_uid) continue;
    finding.seen += ", and its file " + name + " to " + name_of_user(segment.st_uid);
    finding.means = "a server can open only what its own user may";
    finding.to_do = "chown -R all files to the user of the server";
    return finding;
  }
  const bool has_journal = names && !names->segments.empty();
  if (!has_journal || (facts.st_mode & S_IRWXO) == 0) return finding;
  finding.seen += ", and every user may look into it";
  finding.means =
      "jobs can hold secrets; the files of a journal are closed to others, unless copied";
  finding.to_do = "close it to others";
  finding.command = "chmod o-rwx " + shell_word(directory);
  return finding;
}

Finding look_at_use(const struct stat& facts) {
  const std::optional<pid_t> user = user_of_directory(facts);
  return {.check = "use",
          .seen = user ? "process " + std::to_string(*user) + " serves it"
                       : "no process that can be seen from here serves it"};
}

/// The journal's content. `finding` has what is seen if all is well.
Finding look_at_content(const std::string& directory, Finding finding) {
  const auto report = check_journal(directory);
  const std::string trouble = !report          ? report.error().text
                              : report->damage ? *report->damage
                                               : std::string();
  if (!trouble.empty()) {
    constexpr std::string_view kBeforeAdvice = "; nothing was changed: ";
    const std::size_t end = trouble.find(kBeforeAdvice);
    finding.seen = trouble.substr(0, end);
    finding.means = "the server cannot start here";
    finding.to_do =
        end == trouble.npos ? "see what can be read" : trouble.substr(end + kBeforeAdvice.size());
    finding.command = "millrace check " + shell_word(directory);
  } else if (!report->unreadable.empty()) {
    finding.seen = "jobs whose bodies could not be read";
    for (const std::string& line : report->unreadable) finding.seen += "; " + line;
    finding.means = "they cannot run";
    finding.to_do = kUnreadableAdvice;
  }
  return finding;
}

Finding look_at_journal(const std::string& directory) {
  journal::PosixFileSystem files;
  Finding finding{.check = "journal", .seen = {}};
  const auto names = journal::names_in(files, directory);
  if (!names) {
    finding.seen = names.error().text;
    finding.means = "no server can start here";
    finding.to_do = "look at the rights of the directory";
    return finding;
  }
  if (const auto foreign = server::find_foreign_jobs(directory)) {
    finding.seen = foreign->seen;
    finding.means = "a server that is started here refuses them";
    finding.to_do = "stop " + foreign->owner + ", import its jobs, and start with " + foreign->into;
    finding.command = foreign->command;
    return finding;
  }
  if (is_backup(directory)) {
    finding.seen = directory + " is a backup";
    finding.means = "no server starts on it";
    finding.to_do = "make a data directory of it";
    std::error_code error;
    const std::string path = std::filesystem::canonical(directory, error).string();
    finding.command =
        "millrace restore " + shell_word(path) + " --to " + shell_word(path + "-restored");
    return finding;
  }
  const std::array refusals = {
      std::pair{refuse_unfinished(directory), "the command is the one that began it"},
      std::pair{refuse_exported(directory), "let the other server have them, unless it is gone"}};
  for (const auto& [fit, to_do] : refusals) {
    if (fit) continue;
    finding.seen = fit.error().text;
    finding.means = "no server starts here";
    finding.to_do = to_do;
    return finding;
  }
  finding.seen = names->segments.empty()
                     ? "no journal yet; serve makes one"
                     : http::count_of(names->segments.size(), "file") + " of format " +
                           std::to_string(journal::kFormatVersion) + "; no damage";
  if (names->segments.empty()) return finding;
  finding = look_at_content(directory, std::move(finding));
  if (!finding.is_well() || names->has_extent) return finding;
  finding.seen += ", without the file extent";
  finding.means = "files that are missing at the end would not be noticed";
  finding.to_do = "see whether all is there";
  finding.command = "millrace check " + shell_word(directory);
  return finding;
}

/// What was written later than now.
std::optional<Finding> look_at_times(const std::string& directory) {
  constexpr auto kAhead = 60s;
  journal::PosixFileSystem files;
  const auto names = journal::names_in(files, directory);
  if (!names || names->segments.empty()) return std::nullopt;
  const std::string name = journal::segment_name(names->segments.back());
  struct stat facts {};
  if (stat((directory + "/" + name).c_str(), &facts) != 0) return std::nullopt;
  const auto written = std::chrono::system_clock::from_time_t(facts.st_mtim.tv_sec);
  const auto ahead = written - std::chrono::system_clock::now();
  if (ahead < kAhead) return std::nullopt;
  return Finding{
      .check = "clock",
      .seen = name + " was written " +
              cli::show_age(std::chrono::duration_cast<std::chrono::milliseconds>(ahead).count()) +
              " from now",
      .means = "the clock is wrong, or was: jobs with a time run early or late",
      .to_do = "set the clock"};
}

}  // namespace

Outcome<Done> check_directory_of_data(const std::string& directory, Findings& found) {
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0) {
    Problem problem = journal::failed_to("look at", directory, errno);
    const bool may_be_host = errno == ENOENT && directory.find('/') == directory.npos;
    const bool has_port = directory.find(':') != directory.npos;
    if (may_be_host) {
      problem.text += "; for a server, write its URL: http://" +
                      (has_port ? directory : std::string("HOST:PORT"));
    }
    return problem;
  }
  if (!S_ISDIR(facts.st_mode)) return journal::failed_to("look at", directory, ENOTDIR);
  found.push_back(look_at_room(directory));
  const auto syncs = look_at_syncs(directory);
  if (!syncs) {
    found.push_back({.check = "sync",
                     .seen = syncs.error().text,
                     .means = "the speed of the disk is unknown",
                     .to_do = "call doctor as the user of the server"});
  } else {
    found.push_back(*syncs);
  }
  found.push_back(look_at_owner(directory, facts));
  found.push_back(look_at_use(facts));
  found.push_back(look_at_journal(directory));
  if (auto times = look_at_times(directory)) found.push_back(*times);
  return Done{};
}

Outcome<Finding> check_password_file(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return journal::failed_to("look at", path, errno);
  Finding finding{.check = "password", .seen = "only " + name_of_user(facts.st_uid) + " reads it"};
  if ((facts.st_mode & (S_IRGRP | S_IROTH)) == 0) return finding;
  const bool is_for_all = (facts.st_mode & S_IROTH) != 0;
  finding.seen = path + (is_for_all ? " can be read by every user" : " can be read by its group");
  if (!is_for_all) return finding;
  finding.means = "every user of this machine can use the server";
  finding.to_do = "close it to others";
  finding.command = "chmod o-r " + shell_word(path);
  return finding;
}

std::optional<pid_t> user_of_directory(const struct stat& directory) {
  std::ifstream file("/proc/locks");
  std::ostringstream locks;
  locks << file.rdbuf();
  return holder_in(locks.str(), directory);
}

/// `1: FLOCK  ADVISORY  WRITE 4711 fd:01:131074 0 EOF`
std::optional<pid_t> holder_in(std::string_view locks, const struct stat& file) {
  char place[64];
  std::snprintf(place, sizeof place, "%02x:%02x:%llu", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long long>(file.st_ino));
  std::istringstream lines{std::string(locks)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, kind, manner, right, pid, where;
    words >> number >> kind >> manner >> right >> pid >> where;
    if (kind == "FLOCK" && where == place) return parse_number<pid_t>(pid);
  }
  return std::nullopt;
}

}  // namespace millrace::tools
