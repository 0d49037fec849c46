#include "server/system/handover.hpp"

#include <array>
#include <map>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::int64_t kMeantPid = 4711;

/// Two ports, the sockets that they got, and those that were left.
class WantedPorts {
 public:
  WantedPorts(bool wants_beanstalk, bool wants_faktory)
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
        SocketPlace{.name = "beanstalk", .is_wanted = wants_beanstalk_, .socket = beanstalk_},
        SocketPlace{.name = "faktory", .is_wanted = wants_faktory_, .socket = faktory_},
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
  CHECK(take_sockets({}, kMeantPid).value().empty());
}

TEST_CASE("handover: what is meant for another process is left alone") {
  CHECK(take_sockets({.pid = "4712", .count = "1"}, kMeantPid).value().empty());
  CHECK(take_sockets({.pid = "4711x", .count = "1"}, kMeantPid).value().empty());
}

TEST_CASE("handover: a count that is none is refused") {
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "many"}, kMeantPid));
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "-1"}, kMeantPid));
  CHECK_FALSE(take_sockets({.pid = "4711", .count = "65"}, kMeantPid));
  CHECK(take_sockets({.pid = "4711", .count = "0"}, kMeantPid));
}

TEST_CASE("handover: a descriptor that is no listening socket is refused") {
  CHECK(BoundSocket::adopt(0).error().text ==
        "descriptor 0 is not a TCP or unix stream socket that listens");
}

TEST_CASE("handover: a socket is given to the port of its name") {
  WantedPorts ports(true, true);
  ports.hand_out({"faktory", "beanstalk"});
  CHECK(ports.faktory() == "faktory");
  CHECK(ports.beanstalk() == "beanstalk");
  CHECK(ports.left() == 0);
}

TEST_CASE("handover: the names that systemd gives are the ports' names too") {
  WantedPorts ports(true, true);
  ports.hand_out({"faktory.socket", "beanstalkd.socket"});
  CHECK(ports.faktory() == "faktory.socket");
  CHECK(ports.beanstalk() == "beanstalkd.socket");
}

TEST_CASE("handover: other names take the empty ports in order, after those with names") {
  WantedPorts ports(true, true);
  ports.hand_out({"", "beanstalk"});
  CHECK(ports.beanstalk() == "beanstalk");
  CHECK(ports.faktory().empty());
  WantedPorts others(true, true);
  others.hand_out({"millrace.socket", "", "third"});
  CHECK(others.beanstalk() == "millrace.socket");
  CHECK(others.faktory().empty());
  CHECK(others.left() == 1);
}

TEST_CASE("handover: a port that is not wanted stays closed") {
  WantedPorts ports(false, true);
  ports.hand_out({"", ""});
  CHECK(ports.beanstalk() == "-");
  CHECK(ports.faktory().empty());
  CHECK(ports.left() == 1);
}

TEST_CASE("handover: a socket that is named after a closed port is given to no other") {
  WantedPorts ports(true, false);
  ports.hand_out({"faktory.socket"});
  CHECK(ports.beanstalk() == "-");
  CHECK(ports.faktory() == "-");
  CHECK(ports.left() == 1);
}

TEST_CASE("handover: the second socket of a port's name is left") {
  WantedPorts ports(true, true);
  ports.hand_out({"faktory", "faktory"});
  CHECK(ports.beanstalk() == "-");
  CHECK(ports.left() == 1);
}

}  // namespace
}  // namespace millrace::server
