#include "server/web/system_reader.hpp"

#include <future>
#include <thread>

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("system reader: a file system that does not answer holds up one thread, and no other") {
  std::promise<void> asked;
  std::promise<void> answers;
  SystemReader reader([&] {
    asked.set_value();
    answers.get_future().wait();
    return http::SystemFacts{.memory_bytes = 7};
  });
  std::thread first([&] { CHECK(reader.facts().memory_bytes == 7); });
  asked.get_future().wait();
  CHECK(reader.facts().memory_bytes == 0);
  answers.set_value();
  first.join();
  // What was read is reused.
  CHECK(reader.facts().memory_bytes == 7);
}

}  // namespace millrace::server
