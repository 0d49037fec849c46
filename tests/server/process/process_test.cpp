#include "server/process/process.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("process: the facts of the host are known") {
  const HostFacts facts = host_facts();
  CHECK_FALSE(facts.hostname.empty());
  CHECK_FALSE(facts.os.empty());
  CHECK_FALSE(facts.platform.empty());
  CHECK(process_id() == ::getpid());
}

TEST_CASE("process: the loopback of this network has a name, and that of another has another") {
  const std::string name = loopback_name();
  CHECK(name.size() == 16);
  CHECK(loopback_name() == name);
  // In a thread, which has another network alone. It needs rights that not everybody has.
  std::string other;
  std::thread([&other] {
    if (unshare(CLONE_NEWNET) == 0) other = loopback_name("/proc/thread-self/ns/net");
  }).join();
  CHECK(other != name);
}

TEST_CASE("process: random numbers differ") {
  const std::set<std::uint64_t> numbers = {random_number(), random_number(), random_number()};
  CHECK(numbers.size() == 3);
}

TEST_CASE("process: an instance id has 16 hexadecimal digits and is new each time") {
  const std::string id = random_instance_id();
  CHECK(id.size() == 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(random_instance_id() != id);
}

TEST_CASE("process: used memory is a part of the machine's") {
  CHECK(used_memory_bytes() > 0);
  CHECK(used_memory_bytes() < machine_memory_bytes());
  CHECK(used_memory_mb() <= used_memory_bytes() >> 20);
}

TEST_CASE("process: the usage never becomes less") {
  const beanstalk::ProcessUsage before = process_usage();
  const beanstalk::ProcessUsage after = process_usage();
  CHECK(after.user >= before.user);
  CHECK(after.system >= before.system);
}

TEST_CASE("process: the limit of open files is raised to its hard limit") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(raise_descriptor_limit() == before.rlim_max);
  rlimit after{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &after) == 0);
  CHECK(after.rlim_cur == before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace millrace::server
