#include "faktory/session/last_fetch.hpp"

#include "faktory/session/command.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string line_of(std::size_t queues) {
  std::string line = "FETCH";
  for (std::size_t i = 0; i < queues; ++i) line += " q" + std::to_string(i);
  return line;
}

bool is_kept(const std::string& line) {
  return LastFetch::is_worth_it(line, std::get<Fetch>(*parse_command(line)).queues.size());
}

}  // namespace

TEST_CASE("last fetch: it knows the line and its names, wherever they were read") {
  std::string line = line_of(LastFetch::kQueuesMin);
  LastFetch last(line, std::get<Fetch>(*parse_command(line)).queues);
  line.assign(line.size(), 'x');
  CHECK(last.is(line_of(LastFetch::kQueuesMin)));
  CHECK_FALSE(last.is(line_of(LastFetch::kQueuesMin + 1)));
  CHECK(last.request().queues.size() == LastFetch::kQueuesMin);
  CHECK(last.request().queues[1] == "q1");
}

TEST_CASE("last fetch: a line of few queues is not kept, nor one that is too long") {
  const std::string line = line_of(LastFetch::kQueuesMin);
  CHECK(is_kept(line));
  CHECK_FALSE(is_kept(line_of(LastFetch::kQueuesMin - 1)));
  const std::string longest = line + std::string(LastFetch::kLineBytesMax - line.size(), ' ');
  CHECK(is_kept(longest));
  CHECK_FALSE(is_kept(longest + " "));
}

}  // namespace millrace::faktory
