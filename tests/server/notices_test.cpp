#include "server/notices.hpp"

#include <string>

#include "server/fake_journal.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct Noticing {
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  Ledger ledger;
  FakeJournal journal;
  Notices notices{log, ledger, journal};

  /// How many lines of the event came since the last question.
  int count(std::string_view event) {
    int found = 0;
    for (std::size_t at = 0; (at = logged.find(event, at)) != std::string::npos; ++at) ++found;
    logged.clear();
    return found;
  }
};

constexpr Time kStart{1'700'000'000s};

}  // namespace

TEST_CASE("notices: a full disk and a full memory are told once, and so is their end") {
  Noticing noticing;
  noticing.notices.disk(false);
  noticing.notices.memory(false);
  CHECK(noticing.logged.empty());
  for (int i = 0; i < 3; ++i) noticing.notices.disk(true);
  CHECK(noticing.logged.find("--segment-bytes") != std::string::npos);
  CHECK(noticing.count("disk_full") == 1);
  noticing.notices.disk(false);
  CHECK(noticing.count("disk_has_room") == 1);
  for (int i = 0; i < 3; ++i) noticing.notices.memory(true);
  CHECK(noticing.count("memory_full") == 1);
  noticing.notices.memory(false);
  CHECK(noticing.count("memory_has_room") == 1);
}

TEST_CASE("notices: why a shared log stores nothing is told once a minute, and its end once") {
  Noticing noticing;
  for (int second = 0; second < 61; ++second) {
    noticing.notices.shared_log("full", kStart + std::chrono::seconds(second));
  }
  CHECK(noticing.logged.find("problem=full") != std::string::npos);
  CHECK(noticing.count("log_does_not_store") == 2);
  for (int i = 0; i < 3; ++i) noticing.notices.shared_log("", kStart + 62s);
  CHECK(noticing.count("log_stores_again") == 1);
}

TEST_CASE("notices: of what is refused, only what got worse is told, once a second") {
  Noticing noticing;
  const auto tell = [&](Admission before, Admission admission, Time now) {
    noticing.notices.admission(before, admission, now);
  };
  tell(Admission::kEverything, Admission::kNoJobs, kStart);
  tell(Admission::kEndingsOnly, Admission::kNoGrowth, kStart);
  CHECK(noticing.logged.empty());
  tell(Admission::kNoJobs, Admission::kNoGrowth, kStart);
  tell(Admission::kNoJobs, Admission::kNoGrowth, kStart + 999ms);
  CHECK(noticing.count("job_growth_refused") == 1);
  tell(Admission::kNoGrowth, Admission::kEndingsOnly, kStart + 1ms);
  CHECK(noticing.count("reservations_refused") == 1);
  tell(Admission::kNoJobs, Admission::kNoGrowth, kStart + 1s);
  CHECK(noticing.count("job_growth_refused") == 1);
}

TEST_CASE("notices: a lock that was asked for without a time is told once") {
  Noticing noticing;
  noticing.notices.locks_without_time(0);
  CHECK(noticing.logged.empty());
  for (std::uint64_t count = 1; count < 4; ++count) noticing.notices.locks_without_time(count);
  CHECK(noticing.count("lock_without_time missing=unique_for") == 1);
}

TEST_CASE("notices: removed segments are told together") {
  Noticing noticing;
  noticing.notices.removed_segments(0, kStart);
  CHECK(noticing.logged.empty());
  noticing.notices.removed_segments(1, kStart);
  CHECK(noticing.count("segments_removed") == 1);
  noticing.notices.removed_segments(3, kStart + 1s);
  CHECK(noticing.logged.empty());
  noticing.notices.removed_segments(4, kStart + 10s);
  CHECK(noticing.count("segments_removed") == 1);
  noticing.notices.removed_segments(4, kStart + 30s);
  CHECK(noticing.logged.empty());
}

TEST_CASE("notices: a log that cannot be followed is told at once, and then once a minute") {
  Noticing noticing;
  noticing.notices.following("", kStart);
  CHECK(noticing.logged.empty());
  noticing.notices.following("one host is away", kStart);
  CHECK(noticing.count("cannot_follow") == 1);
  for (int i = 1; i < 60; ++i)
    noticing.notices.following("host " + std::to_string(i), kStart + i * 1s);
  CHECK(noticing.logged.empty());
  noticing.notices.following("all hosts are away", kStart + 60s);
  CHECK(noticing.count("cannot_follow") == 1);
  noticing.notices.following("", kStart + 61s);
  noticing.notices.following("", kStart + 62s);
  CHECK(noticing.count("following") == 1);
}

TEST_CASE("notices: a log that comes and goes is told every five seconds at most") {
  Noticing noticing;
  int told = 0;
  for (int i = 0; i < 1000; ++i) {
    noticing.notices.following(i % 2 == 0 ? "away" : "", kStart + i * 10ms);
    told += noticing.count("cannot_follow");
  }
  CHECK(told == 2);
}

TEST_CASE("notices: a name of two nodes is told once a minute") {
  Noticing noticing;
  for (int second = 0; second < 60; ++second) {
    noticing.notices.name_used_twice("b", kStart + std::chrono::seconds(second));
  }
  CHECK(noticing.logged.find(" node_name_used_twice node=b\n") != std::string::npos);
  CHECK(noticing.count("node_name_used_twice") == 1);
  noticing.notices.name_used_twice("c", kStart + 60s);
  CHECK(noticing.count("node_name_used_twice node=c") == 1);
}

TEST_CASE(
    "notices: a report that is refused is told once a minute, with a name of one short line") {
  Noticing noticing;
  noticing.notices.report_refused("b\nc" + std::string(1000, 'x'), "wrong", kStart);
  CHECK(noticing.logged.find(" node_report_refused node=\"b cxxx") != std::string::npos);
  CHECK(noticing.logged.find(" reason=wrong\n") != std::string::npos);
  CHECK(noticing.logged.size() < 200);
  noticing.notices.report_refused("b", "wrong", kStart + 59s);
  CHECK(noticing.count("node_report_refused") == 1);
  noticing.notices.report_refused("", "wrong", kStart + 60s);
  CHECK(noticing.count("node_report_refused node=\"\"") == 1);
}

TEST_CASE("notices: ports of the leader that cannot be reached are told once an hour") {
  Noticing noticing;
  noticing.notices.leader_out_of_reach("b", "", kStart);
  CHECK(noticing.count("leader_out_of_reach") == 0);
  noticing.notices.leader_out_of_reach("b", "web=127.0.0.1:1", kStart);
  CHECK(noticing.logged.find(" leader_out_of_reach leader=b ports=\"web=127.0.0.1:1\"\n") !=
        std::string::npos);
  noticing.notices.leader_out_of_reach("c", "web=127.0.0.1:1", kStart + 3599s);
  CHECK(noticing.count("leader_out_of_reach") == 1);
  noticing.notices.leader_not_trusted("b", "", kStart);
  CHECK(noticing.count("leader_not_trusted") == 0);
  noticing.notices.leader_not_trusted("b", "too old", kStart);
  noticing.notices.leader_not_trusted("b", "too old", kStart + 59s);
  CHECK(noticing.count("leader_not_trusted leader=b problem=\"too old\"") == 1);
  noticing.notices.leader_out_of_reach("c", "web=127.0.0.1:1", kStart + 3600s);
  CHECK(noticing.count("leader_out_of_reach leader=c") == 1);
}

TEST_CASE("notices: a problem of many lines is one of 200 columns") {
  Noticing noticing;
  noticing.notices.following("first\nsecond" + std::string(600, 'x'), kStart);
  CHECK(noticing.logged.find("first second") != std::string::npos);
  CHECK(noticing.logged.size() < 300);
}

}  // namespace millrace::server
