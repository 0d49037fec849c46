#include "server/web/system_reader.hpp"

#include <future>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("system reader: a file system that does not answer holds up nobody for long") {
  asio::io_context context;
  std::promise<void> answers;
  SystemReader reader(context, [&] {
    answers.get_future().wait();
    return http::SystemFacts{.memory_bytes = 7};
  });
  std::vector<std::uint64_t> told;
  const auto ask = [&] {
    reader.facts([&](const http::SystemFacts& facts) { told.push_back(facts.memory_bytes); });
  };
  ask();
  ask();
  CHECK(told.empty());
  context.run();  // until the patience ends
  CHECK(told == std::vector<std::uint64_t>{0, 0});
  ask();
  CHECK(told.size() == 3);
  answers.set_value();
  context.restart();
  while (context.run_one_for(1ms) == 0) context.restart();
  // What was read is reused.
  ask();
  CHECK(told.back() == 7);
}

}  // namespace millrace::server
