/// Journals that earlier versions wrote are read as ever. Each folder of tests/journal/golden holds
/// one, named after its format, and `expected.txt`: what was in it.

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/codec.hpp"
#include "faktory/job/work_unit.hpp"
#include "golden/scenario.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file_journal.hpp"
#include "server/role/replay.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::golden {
namespace {

const std::filesystem::path kJournals = MILLRACE_GOLDEN;

constexpr const char* kAdvice =
    "; if the stored bytes were changed, see \"Versions\" in docs/internals/journal-format.md";

/// Hands a broker that has started on the directory to `look`.
void start_on(const std::string& directory, const std::function<void(const View&)>& look) {
  journal::PosixFileSystem files;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker(ledger, format, {.finished = {.is_durable = true}});
  auto journal = journal::FileJournal::open(files, directory, {});
  REQUIRE_MESSAGE(journal.has_value(), journal.error().text, kAdvice);
  const auto replayed = server::replay(**journal, ledger, [](Lsn) { return true; });
  REQUIRE_MESSAGE(replayed.has_value(), replayed.error().text, kAdvice);
  look(broker.view());
}

/// What a server has when it has started on the directory.
std::string error_of(const std::string& directory) {
  std::string told;
  start_on(directory, [&](const View& view) { told = tell(view); });
  return told;
}

/// What workers are shown of the jobs in that golden journal, a line each.
std::string shown_of(const std::string& golden) {
  const Scratch scratch;
  const std::string copy = scratch.path("data");
  std::filesystem::copy(kJournals / golden, copy);
  std::string shown;
  start_on(copy, [&](const View& view) {
    for (JobId id = 1; id < view.counters().next_id; ++id) {
      const Job* const job = view.jobs().find(id);
      if (job == nullptr) continue;
      faktory::WorkUnits().render(*job, view.queues().at(job->queue).name, {}, shown);
      shown += '\n';
    }
  });
  return shown;
}

std::string expected_of(const std::filesystem::path& golden) {
  std::ifstream file(golden / "expected.txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of a line `OFFSET  XX XX ...  what they are`, up to two spaces.
std::string bytes_of(const std::string& line) {
  constexpr std::size_t kBytesAt = 6;
  std::string bytes;
  for (std::size_t at = kBytesAt; at + 1 < line.size() && line[at] != ' '; at += 3) {
    unsigned char byte = 0;
    std::from_chars(line.data() + at, line.data() + at + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

/// What a page shows of golden files: the names of the files, and the bytes, which begin at 0.
std::vector<std::pair<std::string, std::string>> shown_in(const std::string& page) {
  const std::string kBegin = "```golden ";
  std::vector<std::pair<std::string, std::string>> shown;
  bool is_inside = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (is_inside && line == "```") {
      is_inside = false;
    } else if (is_inside) {
      CHECK(std::stoul(line.substr(0, 4), nullptr, 16) == shown.back().second.size());
      shown.back().second += bytes_of(line);
    } else if (line.starts_with(kBegin)) {
      shown.emplace_back(line.substr(kBegin.size()), "");
      is_inside = true;
    }
  }
  return shown;
}

TEST_CASE("golden: the page of the format shows the bytes that the files have") {
  const auto shown =
      shown_in(contents_of(std::filesystem::path(MILLRACE_PAGES) / "journal-format.md"));
  CHECK(shown.size() == 3);
  for (const auto& each : shown) {
    // A structured binding cannot be captured before C++20, nor by clang 14.
    const auto& name = each.first;
    const auto& bytes = each.second;
    CAPTURE(name);
    CHECK(bytes.size() >= journal::kShortExtentBytes);
    CHECK(contents_of(kJournals / name).starts_with(bytes));
  }
}

TEST_CASE("golden: a journal of each format version is read, and stays what it was") {
  for (const auto& golden : std::filesystem::directory_iterator(kJournals)) {
    CAPTURE(golden.path().string());
    const Scratch scratch;
    const std::string copy = scratch.path("data");
    std::filesystem::copy(golden.path(), copy);
    const std::string expected = expected_of(golden.path());
    REQUIRE_FALSE(expected.empty());
    CHECK(error_of(copy) == expected);
    CHECK(error_of(copy) == expected);
  }
}

/// The same life, recorded before and after work units left out what the server fills in.
TEST_CASE("golden: jobs of both forms of work units are shown alike") {
  const std::string shown = shown_of("1");
  CHECK(shown.find(R"("retry":25,"jid":"waits-here")") != std::string::npos);
  CHECK(shown_of("1-short-units") == shown);
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
