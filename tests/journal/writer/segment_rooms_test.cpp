#include "journal/writer/log_layout.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {

TEST_CASE("rooms: nothing was told of the newest segment") {
  SegmentRooms rooms;
  CHECK_FALSE(rooms.of_newest({100, 200}));
  rooms.tell({.first = 100, .bytes = {50}});
  CHECK_FALSE(rooms.of_newest({100, 200}));
}

TEST_CASE("rooms: the present segment's room is told") {
  SegmentRooms rooms;
  rooms.tell({.first = 200, .bytes = {50, 60}});
  CHECK(rooms.of_newest({100, 200}) == 50);
}

TEST_CASE("rooms: segments that were not begun get the next rooms in turn") {
  SegmentRooms rooms;
  rooms.tell({.first = 100, .bytes = {50, 60, 70}});
  CHECK(rooms.of_newest({100, 200}) == 60);
  CHECK(rooms.of_newest({100, 200, 300}) == 70);
  CHECK_FALSE(rooms.of_newest({100, 200, 300, 400}));
}

TEST_CASE("rooms: a present segment that was trimmed tells nothing") {
  SegmentRooms rooms;
  rooms.tell({.first = 100, .bytes = {50, 60}});
  CHECK_FALSE(rooms.of_newest({200}));
}

}  // namespace millrace::journal
