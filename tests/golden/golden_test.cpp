/// Journals that earlier versions wrote are read as ever. Each folder of tests/journal/golden holds
/// one, named after its format, and `expected.txt`: what was in it.

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "core/broker.hpp"
#include "core/record.hpp"
#include "faktory/work_unit.hpp"
#include "golden/scenario.hpp"
#include "journal/file_journal.hpp"
#include "server/scratch.hpp"
#include "support/doctest.hpp"

namespace millrace::golden {
namespace {

const std::filesystem::path kJournals = MILLRACE_GOLDEN;

/// What a server has when it has started on the directory.
std::string start_on(const std::string& directory) {
  journal::PosixFileSystem files;
  faktory::WorkUnits format;
  Broker broker(format, {});
  auto journal = journal::FileJournal::open(files, directory, {});
  REQUIRE_MESSAGE(journal, journal.error().text);
  const auto replayed = (*journal)->replay(
      [&](std::string_view batch, Lsn begin) { return broker.replay(batch, begin); });
  REQUIRE_MESSAGE(replayed, replayed.error().text);
  return tell(broker.view());
}

std::string expected_of(const std::filesystem::path& golden) {
  std::ifstream file(golden / "expected.txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("golden: a journal of each format version is read, and stays what it was") {
  for (const auto& golden : std::filesystem::directory_iterator(kJournals)) {
    CAPTURE(golden.path().string());
    const server::Scratch scratch;
    const std::string copy = scratch.path("data");
    std::filesystem::copy(golden.path(), copy);
    const std::string expected = expected_of(golden.path());
    REQUIRE_FALSE(expected.empty());
    CHECK(start_on(copy) == expected);
    CHECK(start_on(copy) == expected);
  }
}

TEST_CASE("golden: there is a journal of the present format") {
  CHECK(std::filesystem::exists(kJournals / std::to_string(journal::kFormatVersion)));
}

/// A new record, or a new part of one, must come into the scenario.
TEST_CASE("golden: the journal holds every kind of record, and every state") {
  const std::string kinds = [] {
    std::array<bool, std::variant_size_v<Record>> seen{};
    for (const std::string& batch : record_life()) {
      std::string_view rest = batch;
      while (!rest.empty()) seen[decode(rest)->index()] = true;
    }
    std::string text;
    for (const bool is_seen : seen) text += is_seen ? '1' : '0';
    return text;
  }();
  CHECK(kinds == std::string(std::variant_size_v<Record>, '1'));
  const std::string expected = expected_of(kJournals / std::to_string(journal::kFormatVersion));
  for (const char* const part :
       {"\n  scheduled in ", "\n  ready in ", "\n  reserved in ", "\n  retrying in ",
        "\n  dead in ", "failure retry_count=", "\n    at one.rb:1", "held by 'worker-1'",
        "held by ''", "timeouts=1", "\nday ", " kept paused_until=9223372036854775807"}) {
    CAPTURE(part);
    CHECK(expected.find(part) != std::string::npos);
  }
}

}  // namespace
}  // namespace millrace::golden
