#include "server/options/tables/statsd_options.hpp"

#include <string>
#include <utility>
#include <vector>

#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct ReadStatsd {
  Outcome<std::optional<StatsdOptions>> options;
  std::vector<IgnoredKey> ignored;
};

/// Of these texts as the files a.toml, b.toml, ...
ReadStatsd statsd_of(const std::vector<std::string>& texts) {
  std::vector<ConfigDocument> documents;
  for (const std::string& text : texts) {
    const std::string name(1, static_cast<char>('a' + documents.size()));
    auto document = ConfigDocument::parse(name + ".toml", text);
    REQUIRE_MESSAGE(document, document.error().text);
    documents.push_back(std::move(*document));
  }
  std::vector<IgnoredKey> ignored;
  auto options = read_statsd(documents, ignored);
  return {std::move(options), std::move(ignored)};
}

StatsdOptions options_of(const std::string& members) {
  const auto read_them = statsd_of({"[statsd]\n" + members});
  REQUIRE_MESSAGE(read_them.options, read_them.options.error().text);
  REQUIRE(read_them.options->has_value());
  return **read_them.options;
}

std::string statsd_problem(const std::string& members) {
  const auto read_them = statsd_of({"[statsd]\nlocation = \"a:1\"\n" + members});
  REQUIRE_FALSE(read_them.options);
  return read_them.options.error().text;
}

constexpr const char* kAt = "location = \"host:8125\"\n";

}  // namespace

TEST_CASE("statsd config: none without the table") {
  CHECK_FALSE(statsd_of({"[throttles]\n"}).options->has_value());
  CHECK_FALSE(statsd_of({}).options->has_value());
}

TEST_CASE("statsd config: defaults") {
  const StatsdOptions options = options_of(kAt);
  CHECK(options.location == Address{.host = "host", .port = 8125, .path = {}});
  CHECK(options.name_space == "faktory.");
  CHECK(options.tags.empty());
  CHECK(options.buffer_size == 15);
  CHECK(options.latency_queues.empty());
}

TEST_CASE("statsd config: all members") {
  const StatsdOptions options = options_of(
      "location = \"[::1]:9\"\nnamespace = \"\"\ntags = [\"env:production\", \"a\"]\n"
      "bufferSize = 1000\nqueueLatency = [\"critical\"]\n");
  CHECK(options.location.host == "::1");
  CHECK(options.name_space.empty());
  CHECK(options.tags == std::vector<std::string>{"env:production", "a"});
  CHECK(options.buffer_size == 1000);
  CHECK(options.latency_queues == std::vector<std::string>{"critical"});
}

TEST_CASE("statsd config: any text is a tag") {
  CHECK(options_of(std::string(kAt) + "tags = [\"queue:x\", \"a|b\", \"\"]\n").tags.size() == 3);
}

TEST_CASE("statsd config: unknown keys are named, and are no problem") {
  const ReadStatsd read_them = statsd_of({"[statsd]\n" + std::string(kAt) + "\ncolour = 1\n"});
  REQUIRE(read_them.options);
  REQUIRE(read_them.ignored.size() == 1);
  CHECK(read_them.ignored[0].key == "statsd.colour");
  CHECK(read_them.ignored[0].place == "a.toml:4");
}

TEST_CASE("statsd config: what is wrong is told with file and line") {
  CHECK(statsd_of({"\n[statsd]\n"}).options.error().text == "a.toml:2: statsd.location is missing");
  CHECK(statsd_of({"statsd = 1\n"}).options.error().text == "a.toml:1: statsd must be a table");
  CHECK(statsd_of({"[statsd]\nlocation = \"x\"\n"}).options.error().text ==
        "a.toml:2: statsd.location is wrong: 'x' is not HOST:PORT");
  CHECK(statsd_of({"[statsd]\nlocation = \"unix:/a\"\n"}).options.error().text ==
        "a.toml:2: statsd.location is wrong: 'unix:/a' is not HOST:PORT");
  CHECK(statsd_problem("bufferSize = 0\n") ==
        "a.toml:3: statsd.bufferSize must be a whole number from 1 to 1000");
  CHECK(statsd_problem("bufferSize = 1001\n").starts_with("a.toml:3: statsd.bufferSize"));
  CHECK(statsd_problem("tags = \"a\"\n") ==
        "a.toml:3: statsd.tags must be a list of texts, of at most 500 bytes together");
  CHECK(statsd_problem("tags = [1]\n").starts_with("a.toml:3: statsd.tags must"));
  CHECK(statsd_problem("namespace = 1\n") ==
        "a.toml:3: statsd.namespace must be a text in quotes, of at most 100 bytes");
  CHECK(statsd_problem("queueLatency = 1\n").starts_with("a.toml:3: statsd.queueLatency must"));
}

TEST_CASE("statsd config: limits") {
  const auto list = [](std::size_t bytes) {
    return std::string(kAt) + "tags = [\"" + std::string(bytes, 'x') + "\"]\n";
  };
  CHECK(options_of(list(500)).tags[0].size() == 500);
  CHECK_FALSE(statsd_of({"[statsd]\n" + list(501)}).options);
  CHECK(options_of(std::string(kAt) + "namespace = \"" + std::string(100, 'x') + "\"\n")
            .name_space.size() == 100);
  CHECK(
      statsd_problem("namespace = \"" + std::string(101, 'x') + "\"\n").starts_with("a.toml:3: "));
}

TEST_CASE("statsd config: the table may be in one file only") {
  const std::string table = "[statsd]\n" + std::string(kAt);
  CHECK(statsd_of({table, "\n" + table}).options.error().text ==
        "b.toml:2: [statsd] is also at a.toml:1");
}

TEST_CASE("statsd config: Datadog's URL") {
  CHECK(statsd_at("udp://host:9")->location.text() == "host:9");
  CHECK(statsd_at("udp://host/")->location.text() == "host:8125");
  CHECK(statsd_at("udp://[::1]:9")->location.text() == "[::1]:9");
  CHECK(statsd_at("udp://[::1]")->location.text() == "[::1]:8125");
  CHECK_FALSE(statsd_at("unix:///var/run/datadog/dsd.socket"));
  CHECK_FALSE(statsd_at("udp://"));
  CHECK_FALSE(statsd_at("udp://host:x"));
}

}  // namespace millrace::server
