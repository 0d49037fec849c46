#include "core/broker/clients/gone_workers.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{1000s};

GoneWorkers gone_after_the_start() {
  GoneWorkers gone;
  gone.begin({.timeout = 60s}, true, kNow - 600s);
  gone.begin_look(kNow);  // of those from before the start
  gone.end_look();
  return gone;
}

Worker named(const std::string& wid) {
  Worker worker;
  worker.wid = wid;
  return worker;
}

Job held_by(const std::string& wid) {
  Job job;
  job.state = JobState::kReserved;
  job.marks = job_marks::kHolderBeats;
  job.edit_history().reservation = Reservation{.wid = wid};
  return job;
}

}  // namespace

TEST_CASE("gone workers: one that said END and holds nothing is forgotten") {
  GoneWorkers gone = gone_after_the_start();
  gone.add(named("w"), true, kNow);
  CHECK(gone.next_due() == kNow + 60s);
  gone.begin_look(kNow + 60s);
  CHECK_FALSE(gone.is_lost(gone.find("w"), held_by("w")));
  gone.end_look();
  CHECK(gone.count() == 0);
  CHECK(gone.next_due() == kNever);
}

TEST_CASE("gone workers: one that said END is known while it holds jobs") {
  GoneWorkers gone = gone_after_the_start();
  gone.add(named("w"), true, kNow);
  gone.begin_look(kNow + 60s);
  gone.note_holding("w");
  gone.end_look();
  CHECK_FALSE(gone.is_lost(gone.find("w"), held_by("w")));
  CHECK(gone.next_due() == kNever);
}

TEST_CASE("gone workers: no more than the limit are remembered") {
  GoneWorkers gone = gone_after_the_start();
  for (std::size_t i = 0; i < GoneWorkers::kCountMax; ++i) {
    gone.add(named(std::to_string(i)), false, kNow);
  }
  CHECK(gone.count() == GoneWorkers::kCountMax);
  gone.add(named("one more"), false, kNow);
  CHECK(gone.count() == GoneWorkers::kCountMax);
  CHECK(gone.find("one more") == nullptr);
  gone.add(named("0"), false, kNow + 1s);
  CHECK(gone.find("0")->due == kNow + 61s);
}

TEST_CASE("gone workers: of no more than the limit it is remembered that they had jobs") {
  GoneWorkers gone;
  gone.note_taker("");
  CHECK_FALSE(gone.is_taker(""));
  for (std::size_t i = 0; i < GoneWorkers::kTakersMax; ++i) gone.note_taker(std::to_string(i));
  CHECK(gone.is_taker("0"));
  gone.note_taker("one more");
  CHECK(gone.is_taker("one more"));
  CHECK(gone.is_taker("1"));
  CHECK_FALSE(gone.is_taker("0"));
}

}  // namespace millrace
