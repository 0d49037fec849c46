#include "faktory/session/session.hpp"

#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("input behind a waiting FETCH is bounded") {
  House house;
  join(house, "a", "w");
  CHECK(house.ask("a", "FETCH q\r\n").empty());
  const std::string beat = "BEAT {\"wid\":\"w\"}\r\n";
  std::string beats;
  for (int i = 0; i < 10'000; ++i) beats += beat;
  house.send("a", beats, 4096);
  CHECK(house.take_output("a").empty());
  house.advance(kFetchWait);
  CHECK(house.take_output("a").size() == 5 + 10'000 * 5);
}

TEST_CASE("a client that does not read stops being served, and goes on later") {
  House house;
  join(house, "a");
  CHECK(contains(house.ask("a", "INFO\r\n"), "\"now\""));
  house.hold_output("a", true);
  std::string commands;
  for (int i = 0; i < 2'000; ++i) commands += "INFO\r\n";
  house.send("a", commands);
  house.hold_output("a", false);
  const std::string output = house.take_output("a");
  CHECK(contains(output, "\"command_count\":2001,"));
}

}  // namespace millrace::faktory
