#include "server/web/measure_file.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/model/failure_group.hpp"
#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/series.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// The file of a process, and what the log says.
struct Process {
  explicit Process(const std::string& directory)
      : file({series, failures, alerts, trend, fleet}, directory, log) {}

  /// Until the copy that is due then is written, or cannot be.
  void save(Time at) {
    for (int i = 0; i < 10; ++i) file.work(at);
  }

  http::Series series;
  http::FailureSeries failures;
  http::Alerts alerts;
  http::Trend trend;
  http::Fleet fleet;
  std::string said;
  Log log{[this](std::string_view line) { said += line; }};
  MeasureFile file;
};

constexpr Time kNow{std::chrono::seconds{1'700'000'000}};

std::string data_in(const Scratch& scratch) {
  fs::create_directory(scratch.path("data"));
  return scratch.path("data");
}

/// Of how many errors another process knows.
std::size_t restored(const std::string& directory, Time now, std::string* said = nullptr) {
  Process next(directory);
  next.file.load(now);
  if (said != nullptr) *said = next.said;
  return next.failures.size();
}

/// A process whose meters are read up to `now`.
struct MeasuredProcess : Process {
  MeasuredProcess(const std::string& directory, Time begin) : Process(directory), now(begin) {
    file.load(now);
    measure();
  }

  void measure() {
    for (int i = 0; i < 5; ++i) {
      series.work(server.broker(), now + i * 1ms);
      file.work(now + i * 1ms);
    }
  }
  void pass(int intervals) {
    for (int i = 0; i < intervals; ++i, now += 10s) measure();
  }
  /// Until the thread that writes has come so far.
  bool has_written(const std::string& path) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!fs::exists(path) && std::chrono::steady_clock::now() < deadline) {
      now += 1s;
      measure();
    }
    return fs::exists(path);
  }

  test::InMemoryServer server;
  Time now;
};

constexpr Duration kBlock = 900s;
constexpr Time kBlockBegin{kNow.time_since_epoch() / kBlock * kBlock + kBlock};
constexpr http::Block kFirst{.span = 0, .number = kBlockBegin.time_since_epoch() / kBlock};

std::string path_of(const Scratch& scratch, const http::Block& block) {
  return data_in(scratch) + "/series/10s-" + std::to_string(block.number);
}

/// How many failures with that message are in the block.
std::uint64_t failures_in(const Scratch& scratch, const http::Block& block, const char* message) {
  const std::uint64_t group = failure_group_number({.errtype = "E", .message = message});
  std::uint64_t sum = 0;
  for (const http::Point& point :
       http::find_points(MeasureFile::read_block(data_in(scratch), block), "failures",
                         std::to_string(group), block)) {
    sum += point.failed.value().value_or(0);
  }
  return sum;
}

}  // namespace

TEST_CASE("measure file: each save is there after a crash, and the last one after the end") {
  const Scratch scratch;
  {
    Process process(data_in(scratch));
    process.file.load(kNow);
    process.failures.on_failed({.errtype = "E", .message = "one"}, 1, kNow);
    process.save(kNow + 1s);
    CHECK(restored(data_in(scratch), kNow) == 0);
    process.save(kNow + MeasureFile::kPause);
    process.failures.on_failed({.errtype = "E", .message = "two"}, 1, kNow);
    // The second save waits for the first.
    process.file.save_last();
    process.file.save_last();
    CHECK(process.said.empty());
  }
  CHECK(restored(data_in(scratch), kNow + 1min) == 2);
  CHECK_FALSE(fs::exists(data_in(scratch) + "/measures.new"));
}

TEST_CASE("measure file: nothing is saved before anything was read, or without a directory") {
  const Scratch scratch;
  Process process(data_in(scratch));
  process.save(kNow + 1h);
  process.file.save_last();
  CHECK_FALSE(fs::exists(data_in(scratch) + "/measures"));
  Process nowhere("");
  nowhere.file.load(kNow);
  nowhere.file.save_last();
  CHECK(nowhere.said.empty());
}

TEST_CASE("measure file: what cannot be written or read is said once, and served without") {
  const Scratch scratch;
  fs::create_directories(data_in(scratch) + "/measures/full");
  Process process(data_in(scratch));
  process.file.load(kNow);
  CHECK(process.said.find("measures_dropped") != std::string::npos);
  for (int i = 1; i < 4; ++i) process.save(kNow + i * MeasureFile::kPause);
  process.file.save_last();
  const std::size_t first = process.said.find("measures_not_saved");
  CHECK(first != std::string::npos);
  CHECK(process.said.find("measures_not_saved", first + 1) == std::string::npos);
  CHECK_FALSE(fs::exists(data_in(scratch) + "/measures.new"));
}

TEST_CASE("measure file: a block that is complete is written once, and removed when it is old") {
  const Scratch scratch;
  fs::create_directories(data_in(scratch) + "/series");
  const http::Block old{.span = 0, .number = kFirst.number - http::kArchived[0].blocks};
  const http::Block kept{.span = 0, .number = old.number + 1};
  for (const http::Block& each : {old, kept}) std::ofstream(path_of(scratch, each)) << "x";
  MeasuredProcess process(data_in(scratch), kBlockBegin);
  process.failures.on_failed({.errtype = "E", .message = "one"}, 1, process.now);
  process.pass(80);
  CHECK_FALSE(fs::exists(path_of(scratch, kFirst)));
  process.failures.on_failed({.errtype = "E", .message = "one"}, 1, process.now);
  process.pass(11);
  CHECK(process.has_written(path_of(scratch, kFirst)));
  CHECK(failures_in(scratch, kFirst, "one") == 2);
  CHECK_FALSE(fs::exists(path_of(scratch, old)));
  CHECK(fs::exists(path_of(scratch, kept)));
}

TEST_CASE("measure file: a block that a process had begun is written by the next one") {
  const Scratch scratch;
  {
    MeasuredProcess process(data_in(scratch), kBlockBegin);
    process.failures.on_failed({.errtype = "E", .message = "one"}, 1, process.now);
    process.pass(20);
    process.file.save_last();
  }
  MeasuredProcess soon(data_in(scratch), kBlockBegin + 10min);
  CHECK_FALSE(fs::exists(path_of(scratch, kFirst)));
  MeasuredProcess late(data_in(scratch), kBlockBegin + 10h);
  CHECK(failures_in(scratch, kFirst, "one") == 1);
  CHECK(fs::exists(data_in(scratch) + "/series/300s-" +
                   std::to_string(kBlockBegin.time_since_epoch() / 8h)));
}

TEST_CASE("measure file: a file of another kind is dropped") {
  const Scratch scratch;
  for (const std::string contents :
       {"", "short", "eight by", "anything that is longer than that"}) {
    std::ofstream(data_in(scratch) + "/measures", std::ios::trunc) << contents;
    std::string said;
    CHECK(restored(data_in(scratch), kNow, &said) == 0);
    CHECK(said.find("measures_dropped") != std::string::npos);
  }
  fs::resize_file(data_in(scratch) + "/measures", MeasureFile::kBytesMax + 1);
  std::string said;
  CHECK(restored(data_in(scratch), kNow, &said) == 0);
  CHECK(said.find("too long") != std::string::npos);
}

}  // namespace millrace::server
