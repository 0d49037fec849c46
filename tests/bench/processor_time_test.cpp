#include "processor_time.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <ctime>
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

TEST_CASE("processor time: of a process that is not there it is none") {
  CHECK(processor_seconds(-1) == 0);
}

}  // namespace bench::test
