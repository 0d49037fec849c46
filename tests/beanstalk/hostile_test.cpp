#include <algorithm>
#include <random>
#include <string>

#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

/// What no proper client does. Loops are the point here.
namespace millrace::test {
namespace {

constexpr int kRandomLines = 1'000'000;
constexpr std::uint32_t kSeed = 20240229;

/// A line of words that mean something to the parser, in any order, and of any bytes but CR LF.
std::string random_line(std::mt19937& chance) {
  static const std::string_view kWords[] = {"peek ",
                                            "peek-ready",
                                            "peek-delayed",
                                            "peek-buried",
                                            "reserve-job ",
                                            "delete ",
                                            "release ",
                                            "bury ",
                                            "kick ",
                                            "kick-job ",
                                            "touch ",
                                            "stats-job ",
                                            "stats-tube ",
                                            "use ",
                                            "watch ",
                                            "ignore ",
                                            "list-tubes",
                                            "list-tube-used",
                                            "list-tubes-watched",
                                            "pause-tube ",
                                            "reserve-with-timeout 0 ",
                                            "1",
                                            "2",
                                            "4294967296",
                                            "-1",
                                            " ",
                                            "\t",
                                            "default",
                                            "\r",
                                            "\n",
                                            "x"};
  std::string line;
  std::size_t count = chance() % 6;
  for (std::size_t i = 0; i < count; ++i) line += kWords[chance() % std::size(kWords)];
  while (chance() % 4 == 0) line += static_cast<char>(chance() % 256);
  if (chance() % 64 == 0) line += std::string(chance() % 500, 'z');
  for (auto end = line.find("\r\n"); end != line.npos; end = line.find("\r\n")) line.erase(end, 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

/// How many replies these are; bodies are stepped over.
std::size_t count_replies(std::string_view output) {
  std::size_t count = 0;
  for (; !output.empty(); ++count) {
    auto end = output.find("\r\n");
    REQUIRE(end != std::string_view::npos);
    std::string_view line = output.substr(0, end);
    output.remove_prefix(end + 2);
    bool has_body =
        line.starts_with("OK ") || line.starts_with("FOUND ") || line.starts_with("RESERVED ");
    if (!has_body) continue;
    std::size_t body_bytes = std::stoull(std::string{line.substr(line.rfind(' ') + 1)});
    REQUIRE(output.size() >= body_bytes + 2);
    REQUIRE(output.substr(body_bytes, 2) == "\r\n");
    output.remove_prefix(body_bytes + 2);
  }
  return count;
}

}  // namespace

TEST_CASE("hostile: every prefix of a put, and then the end") {
  InMemoryServer server;
  server.connect("watcher", Protocol::kBeanstalk);
  std::string_view put = "put 4294967295 100 4294967295 12\r\nhello\r\nworld\r\n";
  for (std::size_t size = 0; size < put.size(); ++size) {
    std::string name = "client " + std::to_string(size);
    server.connect(name, Protocol::kBeanstalk);
    server.send(name, put.substr(0, size));
    if (size % 2 == 0) server.half_close(name);
    server.close(name);
    CHECK(server.take_output(name).empty());
  }
  CHECK(server.ask("watcher", "peek-delayed\r\n") == "NOT_FOUND\r\n");
}

TEST_CASE("hostile: an endless line gets one reply, at its end") {
  InMemoryServer server;
  server.connect("a", Protocol::kBeanstalk);
  for (int i = 0; i < 1000; ++i) server.send("a", "\n" + std::string(997, 'z') + "\rz");
  CHECK(server.take_output("a").empty());
  CHECK(server.ask("a", "\r\nlist-tube-used\r\n") == "BAD_FORMAT\r\nUSING default\r\n");
}

TEST_CASE("hostile: random lines get one reply each") {
  std::mt19937 chance{kSeed};
  INFO("seed " << kSeed);
  InMemoryServer server;
  server.connect("a", Protocol::kBeanstalk);
  for (int i = 0; i < kRandomLines; ++i) {
    if (i % 100 == 0) server.send("a", "put 0 0 1 3\r\nabc\r\n");
    if (i % 100 == 0) server.advance(std::chrono::milliseconds{chance() % 2000});
    server.take_output("a");
    std::string line = random_line(chance);
    std::string output = server.ask("a", line + "\r\n");
    if (count_replies(output) != 1) FAIL_CHECK("line " << i << ": " << line << "\ngot: " << output);
  }
}

TEST_CASE("hostile: random bytes in random pieces do no harm") {
  std::mt19937 chance{kSeed};
  InMemoryServer server;
  server.connect("a", Protocol::kBeanstalk);
  std::string bytes;
  for (int i = 0; i < 2000; ++i) {
    bytes += random_line(chance) + (chance() % 8 == 0 ? "\r" : "\r\n");
    if (chance() % 8 == 0) bytes += "put 0 0 1 " + std::to_string(chance() % 70000) + "\r\n";
  }
  while (!bytes.empty()) {
    std::size_t size = std::min<std::size_t>(bytes.size(), 1 + chance() % 300);
    server.send("a", bytes.substr(0, size));
    bytes.erase(0, size);
  }
  server.half_close("a");
  CHECK(!server.is_open("a"));
}

}  // namespace millrace::test
