#include "server/handover.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::int64_t kOwnPid = 4711;

TEST_CASE("handover: without the variables there is nothing") {
  CHECK(take_sockets({}, kOwnPid).value().empty());
}

TEST_CASE("handover: what is meant for another process is left alone") {
  CHECK(take_sockets({.pid = "4712", .count = "1"}, kOwnPid).value().empty());
  CHECK(take_sockets({.pid = "4711x", .count = "1"}, kOwnPid).value().empty());
}

TEST_CASE("handover: a count that is none is refused") {
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "many"}, kOwnPid));
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "-1"}, kOwnPid));
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "65"}, kOwnPid));
  CHECK(take_sockets({.pid = "4711", .count = "0"}, kOwnPid));
}

TEST_CASE("handover: a descriptor that is no listening socket is refused") {
  CHECK(BoundSocket::adopt(0).error().text ==
        "descriptor 0 is not a TCP or unix stream socket that listens");
}

}  // namespace
}  // namespace millrace::server
