#include "server/net/handover.hpp"

#include <array>
#include <map>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::int64_t kOwnPid = 4711;

/// Two doors, the sockets that they got, and those that were left.
class Doors {
 public:
  Doors(bool wants_beanstalk, bool wants_faktory)
      : wants_beanstalk_(wants_beanstalk), wants_faktory_(wants_faktory) {}

  /// Hands out a fresh socket for each name.
  void hand_out(const std::vector<std::string>& names) {
    std::vector<HandedOver> sockets;
    for (const std::string& name : names) {
      auto socket = BoundSocket::bind({.host = "127.0.0.1"}, log_);
      REQUIRE(socket);
      ports_[socket->address().port] = name;
      sockets.push_back({name, std::move(*socket)});
    }
    const std::array places = {
        SocketPlace{.door = "beanstalk", .is_wanted = wants_beanstalk_, .socket = beanstalk_},
        SocketPlace{.door = "faktory", .is_wanted = wants_faktory_, .socket = faktory_},
    };
    left_ = server::hand_out(std::move(sockets), places);
  }

  /// The name that its socket had; `-` when it has none.
  [[nodiscard]] std::string beanstalk() const { return name_of(beanstalk_); }
  [[nodiscard]] std::string faktory() const { return name_of(faktory_); }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  [[nodiscard]] std::string name_of(const std::optional<BoundSocket>& socket) const {
    return socket ? ports_.at(socket->address().port) : "-";
  }

  bool wants_beanstalk_;
  bool wants_faktory_;
  Log log_{[](std::string_view) {}};
  std::map<std::uint16_t, std::string> ports_;
  std::optional<BoundSocket> beanstalk_;
  std::optional<BoundSocket> faktory_;
  std::vector<HandedOver> left_;
};

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

TEST_CASE("handover: a socket goes to the door of its name") {
  Doors doors(true, true);
  doors.hand_out({"faktory", "beanstalk"});
  CHECK(doors.faktory() == "faktory");
  CHECK(doors.beanstalk() == "beanstalk");
  CHECK(doors.left() == 0);
}

TEST_CASE("handover: the names that systemd gives are the doors' names too") {
  Doors doors(true, true);
  doors.hand_out({"faktory.socket", "beanstalkd.socket"});
  CHECK(doors.faktory() == "faktory.socket");
  CHECK(doors.beanstalk() == "beanstalkd.socket");
}

TEST_CASE("handover: other names take the empty doors in order, behind those with names") {
  Doors doors(true, true);
  doors.hand_out({"", "beanstalk"});
  CHECK(doors.beanstalk() == "beanstalk");
  CHECK(doors.faktory().empty());
  Doors others(true, true);
  others.hand_out({"millrace.socket", "", "third"});
  CHECK(others.beanstalk() == "millrace.socket");
  CHECK(others.faktory().empty());
  CHECK(others.left() == 1);
}

TEST_CASE("handover: a door that is not wanted stays closed") {
  Doors doors(false, true);
  doors.hand_out({"", ""});
  CHECK(doors.beanstalk() == "-");
  CHECK(doors.faktory().empty());
  CHECK(doors.left() == 1);
}

TEST_CASE("handover: a socket that is named after a closed door goes nowhere else") {
  Doors doors(true, false);
  doors.hand_out({"faktory.socket"});
  CHECK(doors.beanstalk() == "-");
  CHECK(doors.faktory() == "-");
  CHECK(doors.left() == 1);
}

TEST_CASE("handover: the second socket of a door's name is left") {
  Doors doors(true, true);
  doors.hand_out({"faktory", "faktory"});
  CHECK(doors.beanstalk() == "-");
  CHECK(doors.left() == 1);
}

}  // namespace
}  // namespace millrace::server
