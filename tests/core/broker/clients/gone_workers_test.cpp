#include "core/broker/clients/gone_workers.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using HeldJobs = GoneWorkers::HeldJobs;

constexpr Time kNow{1000s};

GoneWorkers gone_after_a_minute() {
  GoneWorkers gone;
  gone.begin({.timeout = 60s}, kNow);
  gone.begin_look(kNow + 60s);  // of those from before the start
  gone.end_look();
  return gone;
}

Worker named(const std::string& wid) {
  Worker worker;
  worker.wid = wid;
  return worker;
}

}  // namespace

TEST_CASE("gone workers: one that said END and holds nothing is forgotten") {
  GoneWorkers gone = gone_after_a_minute();
  gone.add(named("w"), kNow, HeldJobs::kStay);
  CHECK(gone.next_due() == kNow + 60s);
  gone.begin_look(kNow + 60s);
  CHECK_FALSE(gone.is_lost(gone.find("w"), false));
  gone.end_look();
  CHECK(gone.count() == 0);
  CHECK(gone.next_due() == kNever);
}

TEST_CASE("gone workers: one that said END is known while it holds jobs") {
  GoneWorkers gone = gone_after_a_minute();
  gone.add(named("w"), kNow, HeldJobs::kStay);
  gone.begin_look(kNow + 60s);
  gone.note_holding("w");
  gone.end_look();
  CHECK_FALSE(gone.is_lost(gone.find("w"), true));
  CHECK(gone.next_due() == kNever);
}

TEST_CASE("gone workers: no more than the limit are remembered") {
  GoneWorkers gone = gone_after_a_minute();
  for (std::size_t i = 0; i < GoneWorkers::kCountMax; ++i) {
    gone.add(named(std::to_string(i)), kNow, HeldJobs::kComeBack);
  }
  CHECK(gone.count() == GoneWorkers::kCountMax);
  gone.add(named("one more"), kNow, HeldJobs::kComeBack);
  CHECK(gone.count() == GoneWorkers::kCountMax);
  CHECK(gone.find("one more") == nullptr);
  gone.add(named("0"), kNow + 1s, HeldJobs::kComeBack);
  CHECK(gone.find("0")->due == kNow + 61s);
}

}  // namespace millrace
