#include "server/process/line_writer.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "server/process/logging.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Where lines are written to, and the end that is read. It is closed with the test.
struct LineEnds {
  ~LineEnds() {
    for (const int each : ends) ::close(each);
  }
  std::array<int, 2> ends{};

  /// What is there now.
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 4096> some;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (ssize_t got = 1; got > 0;) {
      got = ::read(ends[0], some.data(), some.size());
      if (got > 0) text.append(some.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
};

const std::string kLongLine = std::string(199, 'x') + "\n";

void fill(LineWriter& writer) {
  while (writer.lost() == 0) writer.write(kLongLine);
}

TEST_CASE("line writer: leaves out what a full pipe does not take, and says how much") {
  LineEnds pipe;
  REQUIRE(::pipe2(pipe.ends.data(), O_CLOEXEC) == 0);
  LineWriter writer(pipe.ends[1]);
  fill(writer);
  writer.write(kLongLine);
  CHECK(pipe.read().ends_with("x\n"));
  writer.write("after\n");
  CHECK(pipe.read().substr(24) == " log_lines_lost count=2\nafter\n");
  writer.write("more\n");
  CHECK(pipe.read() == "more\n");
  CHECK(writer.lost() == 2);
}

TEST_CASE("line writer: says how much was lost in the format of the log") {
  LineEnds pipe;
  REQUIRE(::pipe2(pipe.ends.data(), O_CLOEXEC) == 0);
  LineWriter writer(pipe.ends[1], LogFormat::kJson);
  fill(writer);
  (void)pipe.read();
  writer.write("after\n");
  CHECK(pipe.read().find(R"("event":"log_lines_lost","count":1)") != std::string::npos);
}

TEST_CASE("line writer: a line that a socket took in part ends before the next one") {
  LineEnds sockets;
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.ends.data()) == 0);
  LineWriter writer(sockets.ends[1]);
  writer.write(std::string(1 << 20, 'y') + "\n");
  CHECK(writer.lost() == 1);
  CHECK(sockets.read().ends_with("y"));
  writer.write("after\n");
  const std::string text = sockets.read();
  CHECK(text.starts_with("\n"));
  CHECK(text.ends_with(" log_lines_lost count=1\nafter\n"));
}

TEST_CASE("line writer: a line longer than a pipe takes at once is written whole") {
  LineEnds pipe;
  REQUIRE(::pipe2(pipe.ends.data(), O_CLOEXEC) == 0);
  LineWriter writer(pipe.ends[1]);
  const std::string line = std::string(10'000, 'z') + "\n";
  writer.write(line);
  CHECK(pipe.read() == line);
}

TEST_CASE("line writer: counts what a full disk does not take") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  LineWriter writer(full);
  writer.write("a\n");
  writer.write("b\n");
  CHECK(writer.lost() == 2);
  ::close(full);
}

TEST_CASE("line writer: a last line waits for a pipe with room, and not for a full one") {
  LineEnds pipe;
  REQUIRE(::pipe2(pipe.ends.data(), O_CLOEXEC) == 0);
  CHECK(wait_for_reader(pipe.ends[1]));
  LineWriter writer(pipe.ends[1]);
  fill(writer);
  CHECK_FALSE(wait_for_reader(pipe.ends[1]));
}

}  // namespace
}  // namespace millrace::server
