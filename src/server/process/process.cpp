#include "server/process/process.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "server/process/line_writer.hpp"

namespace millrace::server {
namespace {

std::chrono::microseconds microseconds_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

constexpr std::string_view kOutOfMemory = "millrace: out of memory\n";
constexpr int kExitOutOfMemory = 1;

}  // namespace

void end_without_memory() {
  // `new` expects this of a handler that can do nothing.
  if (MayLackMemory::is_on()) throw std::bad_alloc();
  static std::atomic_flag is_ending;
  // Threads that fail meanwhile wait for the end.
  while (is_ending.test_and_set()) ::pause();
  // Nothing here may allocate.
  if (wait_for_reader(STDERR_FILENO)) {
    (void)!::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
  }
  ::_exit(kExitOutOfMemory);
}

Problem no_thread(const std::system_error& error) {
  // By value: Asio's errors have a category of their own.
  if (error.code().value() != EAGAIN) return Problem{error.what()};
  return Problem{
      "cannot start a thread: raise the process limit (ulimit -u, TasksMax, pids.max) "
      "or the memory limit"};
}

HostFacts host_facts() {
  utsname names{};
  CHECK(uname(&names) == 0);
  return {.hostname = names.nodename, .os = names.version, .platform = names.machine};
}

std::string loopback_name(const char* network_file) {
  std::string boot;
  struct stat network {};
  const bool is_known = std::ifstream("/proc/sys/kernel/random/boot_id") >> boot &&
                        ::stat(network_file, &network) == 0;
  if (!is_known) return {};
  Fnv1a hash;
  hash.add(boot + " " + std::to_string(network.st_dev) + " " + std::to_string(network.st_ino));
  return hex(hash.value());
}

std::int64_t process_id() {
  return getpid();
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  CHECK(getentropy(&number, sizeof number) == 0);
  return number;
}

std::string random_instance_id() {
  return hex(random_number());
}

beanstalk::ProcessUsage process_usage() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return {.user = microseconds_of(usage.ru_utime), .system = microseconds_of(usage.ru_stime)};
}

std::uint64_t used_memory_bytes() {
  std::uint64_t virtual_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> virtual_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t used_memory_mb() {
  return used_memory_bytes() / (1024 * 1024);
}

std::uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const std::uint64_t all = pages < 0 ? 0
                                      : static_cast<std::uint64_t>(pages) *
                                            static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  // A container without a limit has the text `max` here, which is not a number.
  std::uint64_t granted = 0;
  const bool is_limited{std::ifstream("/sys/fs/cgroup/memory.max") >> granted};
  return is_limited ? std::min(all, granted) : all;
}

std::size_t machine_cores() {
  const std::size_t all = std::thread::hardware_concurrency();
  // A container without a limit has the text `max` here, as above.
  std::size_t quota_us = 0;
  std::size_t period_us = 0;
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  const bool is_limited{file >> quota_us >> period_us};
  return is_limited && period_us > 0 ? std::min(all, quota_us / period_us) : all;
}

std::uint64_t open_descriptors() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", error), end; !error && each != end;
       each.increment(error)) {
    ++count;
  }
  // Its own look takes one. Without /proc, there are at least the three that each process gets.
  return std::max<std::uint64_t>(count, 4) - 1;
}

void forbid_core_dumps() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  limit.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

Outcome<User> find_user(const std::string& name) {
  errno = 0;
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) {
    const std::string why = errno == 0 ? "no such user" : std::strerror(errno);
    return Problem{"cannot become user '" + name + "': " + why};
  }
  return User{.name = name, .user_id = entry->pw_uid, .group_id = entry->pw_gid};
}

bool is_root() {
  return geteuid() == 0;
}

std::optional<std::string> find_home() {
  passwd entry{};
  passwd* found = nullptr;
  // More than any system asks for.
  std::vector<char> texts(std::size_t{64} << 10);
  const int error = getpwuid_r(getuid(), &entry, texts.data(), texts.size(), &found);
  if (error != 0 || found == nullptr || *found->pw_dir == '\0') return std::nullopt;
  return found->pw_dir;
}

Outcome<Done> become(const User& user) {
  if (geteuid() == user.user_id && getegid() == user.group_id && !is_root()) return Done{};
  // In this order: after `setuid` the process may not change its groups any more.
  const bool is_done = initgroups(user.name.c_str(), user.group_id) == 0 &&
                       setgid(user.group_id) == 0 && setuid(user.user_id) == 0;
  if (!is_done) return Problem{"cannot become user '" + user.name + "': " + std::strerror(errno)};
  return Done{};
}

Outcome<ConnectionLimits> share_descriptors(const DescriptorNeeds& needs) {
  const std::uint64_t own =
      needs.open_already + kDescriptorsOfServer + kDescriptorsOfIoThread * needs.io_threads +
      (needs.io_threads > 0 ? 1 : 0) + (needs.has_journal ? kDescriptorsOfJournal : 0);
  if (needs.limit < own + kConnectionsMin) {
    return Problem{"the limit of open files is " + std::to_string(needs.limit) +
                   ", and the server needs at least " + std::to_string(own + kConnectionsMin) +
                   ": raise the hard limit (ulimit -Hn, LimitNOFILE)"};
  }
  const std::uint64_t left = needs.limit - own;
  const std::uint64_t web =
      needs.has_web ? std::min<std::uint64_t>(needs.web_connections_max, left / kWebPart) : 0;
  return ConnectionLimits{.clients = left - web, .web = static_cast<std::size_t>(web)};
}

}  // namespace millrace::server
