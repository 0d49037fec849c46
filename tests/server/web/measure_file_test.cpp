#include "server/web/measure_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/series.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// The file of a process, and what the log says.
struct Process {
  explicit Process(const std::string& directory)
      : file({series, failures, alerts, activity}, directory, log) {}

  /// Until the copy that is due then is written, or cannot be.
  void save(Time at) {
    for (int i = 0; i < 10; ++i) file.work(at);
  }

  http::Series series;
  http::FailureSeries failures;
  http::Alerts alerts;
  Activity activity;
  std::string said;
  Log log{[this](std::string_view line) { said += line; }};
  MeasureFile file;
};

constexpr Time kNow{std::chrono::seconds{1'700'000'000}};

std::string data_in(const Scratch& scratch) {
  fs::create_directory(scratch.path("data"));
  return scratch.path("data");
}

/// How many changes another process knows.
std::size_t restored(const std::string& directory, Time now, std::string* said = nullptr) {
  Process next(directory);
  next.file.load(now);
  if (said != nullptr) *said = next.said;
  return next.activity.end() - 1;
}

}  // namespace

TEST_CASE("measure file: each save is there after a crash, and the last one after the end") {
  const Scratch scratch;
  {
    Process process(data_in(scratch));
    process.file.load(kNow);
    process.activity.note({.at = kNow, .action = "queues/pause"});
    process.save(kNow + 1s);
    CHECK(restored(data_in(scratch), kNow) == 0);
    process.save(kNow + MeasureFile::kPause);
    process.activity.note({.at = kNow, .action = "queues/resume"});
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
