#include <filesystem>
#include <limits>
#include <string>

#include "journal/file/file_system.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/marks.hpp"
#include "tools/import/binlog_bytes.hpp"
#include "tools/import/import.hpp"

namespace millrace::tools {
namespace {

using State = BinlogRecord::State;

constexpr std::uint64_t kGreatest = std::numeric_limits<std::uint64_t>::max();

/// A directory of beanstalkd, and one for the import.
struct Directories {
  Directories() { std::filesystem::create_directory(scratch.path("old")); }

  void write(int number, const std::string& records) const {
    scratch.write("old/binlog." + std::to_string(number), binlog_head(7) + records);
  }
  [[nodiscard]] ImportChoice choice(bool merges = false) const {
    return {.beanstalkd = scratch.path("old"), .into = scratch.path("new"), .merges = merges};
  }
  [[nodiscard]] ImportChoice choice_despite_damage() const {
    ImportChoice choice = this->choice();
    choice.skips_damage = true;
    return choice;
  }
  [[nodiscard]] std::string jobs() const {
    const auto report = check_journal(scratch.path("new"));
    REQUIRE(report);
    CHECK_FALSE(report->damage);
    const std::size_t at = report->text.find("jobs: ");
    return report->text.substr(at, report->text.find('\n', at) - at);
  }
  /// As a killed import leaves it.
  void mark(const std::string& source, JobId first_id) const {
    journal::PosixFileSystem files;
    REQUIRE(
        write_import_mark(files, scratch.path("new"), {.source = source, .first_id = first_id}));
  }
  [[nodiscard]] std::string source() const {
    return "beanstalkd's " + std::filesystem::canonical(scratch.path("old")).string();
  }

  Scratch scratch;
};

std::string problem_of(const Outcome<JournalReport>& report) {
  return report ? "" : report.error().text;
}

bool tells(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("import: jobs of each state are taken, and deleted ones are not") {
  const Directories test;
  test.write(1,
             binlog_record({.id = 1, .tube = "t", .body = "ready"}) +
                 binlog_record({.id = 2, .tube = "t", .body = "reserved"}) +
                 binlog_record({.id = 3, .tube = "t", .state = State::kBuried}) +
                 binlog_record(
                     {.id = 4, .tube = "t", .state = State::kDelayed, .deadline_ns = kGreatest}) +
                 binlog_record({.id = 5, .tube = "t"}) +
                 binlog_record({.id = 2, .state = State::kReserved}) +
                 binlog_record({.id = 5, .state = State::kDeleted}));
  REQUIRE(import_binlog(test.choice()));
  CHECK(test.jobs() == "jobs: 1 scheduled, 2 ready, 0 reserved, 0 retrying, 1 dead");
}

TEST_CASE("import: a change of a job whose record is gone is none") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .state = State::kBuried}));
  REQUIRE(import_binlog(test.choice()));
  CHECK(test.jobs() == "jobs: 0 scheduled, 0 ready, 0 reserved, 0 retrying, 0 dead");
}

TEST_CASE("import: numbers that no server writes are taken as the nearest that can be") {
  const Directories test;
  int number = 0;
  for (const State state : {State::kReady, State::kBuried, State::kDelayed}) {
    test.write(++number, binlog_record({.id = static_cast<JobId>(state),
                                        .tube = "t",
                                        .state = state,
                                        .pri = 0xffffffff,
                                        .delay_ns = kGreatest,
                                        .ttr_ns = kGreatest,
                                        .created_ns = kGreatest,
                                        .deadline_ns = kGreatest}));
  }
  REQUIRE(import_binlog(test.choice()));
  CHECK(test.jobs() == "jobs: 1 scheduled, 1 ready, 0 reserved, 0 retrying, 1 dead");
}

TEST_CASE("import: an id that would use up the numbers is not taken") {
  const Directories test;
  test.write(1, binlog_record({.id = JobId{1} << 62, .tube = "t"}) +
                    binlog_record({.id = (JobId{1} << 62) + 1, .tube = "t"}));
  const auto report = import_binlog(test.choice());
  CHECK(tells(report->text, "t     ready      2      1  1 with an id that no server has drawn"));
}

TEST_CASE("import: damage is refused before a byte is written, or passed over") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .tube = "t"}));
  test.write(4, binlog_record({.id = 2, .tube = "t"}) + "no record");
  const std::string problem = problem_of(import_binlog(test.choice()));
  CHECK(tells(problem, "the files between binlog.1 and binlog.4 are missing (and 1 more); "));
  CHECK_FALSE(std::filesystem::exists(test.scratch.path("new")));
  const auto report = import_binlog(test.choice_despite_damage());
  REQUIRE(report);
  CHECK(tells(report->damage.value_or(""), "the files between binlog.1 and binlog.4 are missing"));
  CHECK(test.jobs() == "jobs: 0 scheduled, 2 ready, 0 reserved, 0 retrying, 0 dead");
}

TEST_CASE("import: a file that ends within a record is damage, also the newest in its first") {
  const std::string longest = binlog_record({.id = 2, .tube = "t", .body = std::string(9000, 'x')});
  for (const std::size_t size : {std::size_t{1}, std::size_t{90}, std::size_t{8000}}) {
    CAPTURE(size);
    const Directories test;
    test.write(1, binlog_record({.id = 1, .tube = "t"}));
    test.write(2, longest.substr(0, size));
    CHECK(tells(problem_of(import_binlog(test.choice())), "binlog.2, offset 4: "));
  }
}

TEST_CASE("import: an empty file is damage, unless it is the newest") {
  const Directories test;
  test.write(2, binlog_record({.id = 1, .tube = "t"}));
  test.scratch.write("old/binlog.1", "");
  CHECK(tells(problem_of(import_binlog(test.choice())), "binlog.1 is empty"));
  test.scratch.write("old/binlog.1", std::string(4096, '\0'));
  CHECK(tells(problem_of(import_binlog(test.choice())), "binlog.1 has nothing but zeros"));
  test.write(1, binlog_record({.id = 1, .tube = "t"}));
  test.scratch.write("old/binlog.2", std::string(4096, '\0'));
  const auto report = import_binlog(test.choice());
  REQUIRE(report);
  CHECK_FALSE(report->damage);
  CHECK(tells(report->text, "binlog.2 has nothing but zeros"));
}

TEST_CASE("import: a directory that is missing or has no binlog is refused, and none is made") {
  const Directories test;
  CHECK(tells(problem_of(import_binlog(test.choice())), "has no file named binlog.1"));
  std::filesystem::remove(test.scratch.path("old"));
  CHECK(tells(problem_of(import_binlog(test.choice())), "No such file"));
  CHECK_FALSE(std::filesystem::exists(test.scratch.path("new")));
}

TEST_CASE("import: nothing is written into the directory of the binlog") {
  const Directories test;
  test.write(1, "");
  ImportChoice choice = test.choice();
  choice.into = choice.beanstalkd + "/new";
  CHECK(tells(problem_of(import_jobs(choice)), "/old/new must not be inside "));
  CHECK_FALSE(std::filesystem::exists(choice.into));
}

TEST_CASE("import: a backup is no target") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .tube = "t"}));
  std::filesystem::create_directory(test.scratch.path("new"));
  test.scratch.write("new/manifest", "");
  CHECK(tells(problem_of(import_binlog(test.choice())), "/new is a backup: name a new directory"));
}

TEST_CASE("import: the directory of the binlog is no target") {
  const Directories test;
  test.write(1, "");
  ImportChoice choice = test.choice();
  choice.into = choice.beanstalkd + "/.";
  CHECK(tells(problem_of(import_binlog(choice)), "name a new directory"));
}

TEST_CASE("import: jobs that are there need --merge, and no id is used twice") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .tube = "t"}) + binlog_record({.id = 2, .tube = "t"}));
  REQUIRE(import_binlog(test.choice()));
  CHECK(tells(problem_of(import_binlog(test.choice())), "jobs already (2), "));
  const auto report = import_binlog(test.choice(true));
  REQUIRE(report);
  CHECK(tells(report->text, "ids: 2 added to each"));
  CHECK(test.jobs() == "jobs: 0 scheduled, 4 ready, 0 reserved, 0 retrying, 0 dead");
}

TEST_CASE("import: one that was cut short begins again, and leaves the jobs of before") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .tube = "t"}) + binlog_record({.id = 2, .tube = "t"}));
  REQUIRE(import_binlog(test.choice()));
  REQUIRE(import_binlog(test.choice(true)));
  test.mark(test.source(), 3);
  ImportChoice choice = test.choice();
  choice.beanstalkd += "/../old";
  const auto report = import_binlog(choice);
  REQUIRE(report);
  CHECK(tells(report->text, "ids: 2 added to each"));
  CHECK(test.jobs() == "jobs: 0 scheduled, 4 ready, 0 reserved, 0 retrying, 0 dead");
}

TEST_CASE("import: one that was cut short comes before those of other directories") {
  const Directories test;
  test.write(1, binlog_record({.id = 1, .tube = "t"}));
  REQUIRE(import_binlog(test.choice()));
  test.mark("beanstalkd's /other", 1);
  CHECK(tells(problem_of(import_binlog(test.choice())), "/other into"));
  CHECK(test.jobs() == "jobs: 0 scheduled, 1 ready, 0 reserved, 0 retrying, 0 dead");
}

}  // namespace millrace::tools
