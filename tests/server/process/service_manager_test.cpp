#include "server/process/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>

#include "server/scratch.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// The end of the socket where a service manager listens.
class Manager {
 public:
  explicit Manager(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() { close(descriptor_); }

  std::string heard() const {
    std::array<char, 100> bytes{};
    const ssize_t size = recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(size));
  }

 private:
  int descriptor_ = socket(AF_UNIX, SOCK_DGRAM, 0);
};

}  // namespace

TEST_CASE("service manager: it is told that the server is ready") {
  const Scratch scratch;
  const std::string path = scratch.path("notify");
  const Manager manager(path);
  CHECK(tell_ready(path).has_value());
  CHECK(manager.heard() == "READY=1");
}

TEST_CASE("service manager: where none is, nothing happens") {
  CHECK(tell_ready("").has_value());
}

TEST_CASE("service manager: one that is gone is a problem") {
  const Scratch scratch;
  const auto told = tell_ready(scratch.path("nobody"));
  REQUIRE_FALSE(told.has_value());
  CHECK(told.error().text.find("No such file or directory") != std::string::npos);
  CHECK_FALSE(tell_ready(std::string(200, 'a')).has_value());
}

}  // namespace millrace::server
