#include "server/process/audit_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Condition>
bool comes_true(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  return condition();
}

/// What the log says, from any thread.
struct Said {
  std::mutex mutex;
  std::string text;
  Log log{[this](std::string_view line) {
    const std::lock_guard lock(mutex);
    text += line;
  }};
  std::string all() {
    const std::lock_guard lock(mutex);
    return text;
  }
};

}  // namespace

TEST_CASE("audit file: lines are appended, and nobody else may read them") {
  const Scratch scratch;
  const std::string path = scratch.path("audit");
  Said said;
  for (const char* const line : {"one\n", "two\n"}) {
    AuditFile file(said.log);
    REQUIRE(file.open(path));
    file.write(line);
  }
  CHECK(contents_of(path) == "one\ntwo\n");
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(said.all().empty());
}

TEST_CASE("audit file: a file that was moved away is made anew") {
  const Scratch scratch;
  const std::string path = scratch.path("audit");
  Said said;
  AuditFile file(said.log);
  REQUIRE(file.open(path));
  file.write("one\n");
  CHECK(comes_true([&] { return contents_of(path) == "one\n"; }));
  fs::rename(path, path + ".1");
  file.write("two\n");
  CHECK(comes_true([&] { return contents_of(path + ".1") == "one\ntwo\n"; }));
  file.reopen();
  file.write("three\n");
  CHECK(comes_true([&] { return contents_of(path) == "three\n"; }));
}

TEST_CASE("audit file: what cannot be written is counted, and said once") {
  Said said;
  AuditFile file(said.log);
  REQUIRE(file.open("/dev/full"));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    file.write("line\n");
    CHECK(comes_true([&] { return file.lost() == i; }));
  }
  const std::string text = said.all();
  CHECK(text.find("audit_log_failed file=/dev/full") != std::string::npos);
  CHECK(text.find("audit_log_failed") == text.rfind("audit_log_failed"));
}

TEST_CASE("audit file: one that cannot be opened says why") {
  Said said;
  AuditFile file(said.log);
  const auto opened = file.open("/no/such/directory/audit");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().text == "/no/such/directory/audit: No such file or directory");
  file.write("dropped\n");
  CHECK(file.lost() == 0);
}

}  // namespace millrace::server
