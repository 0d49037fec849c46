#include "processor_time.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <stdexcept>
#include <thread>

namespace bench::test {

/// The same time as the kernel counts it for the process as a whole.
double own_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

doctest::Approx about(double seconds) {
  return doctest::Approx(seconds).scale(0).epsilon(0.2);
}

void work_until(double seconds) {
  while (own_seconds() < seconds) {
  }
}

TEST_CASE("processor time: every thread counts once") {
  work_until(own_seconds() + 0.1);
  CHECK(processor_seconds(::getpid()) == about(own_seconds()));
}

TEST_CASE("processor time: threads other than the first one count") {
  const double before = processor_seconds(::getpid());
  double after = 0;
  std::thread worker([&after] {
    work_until(own_seconds() + 0.1);
    after = processor_seconds(::getpid());
  });
  worker.join();
  CHECK(after - before == about(0.1));
}

TEST_CASE("processor time: a process that is not there has none") {
  CHECK_THROWS_WITH_AS(processor_seconds(999'999'999), "process 999999999 does not run",
                       std::runtime_error);
}

TEST_CASE("processor time: a process that has ended has none, before it is waited for and after") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK_THROWS_AS(processor_seconds(child), std::runtime_error);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK_THROWS_AS(processor_seconds(child), std::runtime_error);
}

}  // namespace bench::test
