#include "journal/shared/replicated_journal.hpp"

#include <string>
#include <vector>

#include "journal/shared/peer.hpp"

namespace millrace::journal {
namespace {

using namespace std::chrono_literals;
using Followed = SharedJournal::Followed;

/// A server that leads a log.
struct Led {
  Led() { a.lead(); }
  SimulatedLog log;
  Peer a{log, "a"};
};

/// And one that was there before, and follows.
struct Pair {
  Pair() { a.lead(); }
  SimulatedLog log;
  Peer a{log, "a"};
  Peer b{log, "b"};
};

}  // namespace

TEST_CASE_FIXTURE(Led,
                  "replicated journal: what the leader appends is handed to the one that follows") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  Peer b(log, "b");
  CHECK(b.followed(Followed::kOn));
  CHECK(b.batches == std::vector<std::string>{"one", "two"});
  CHECK(b.journal->leader()->node == "a");
  CHECK(b.journal->leader()->notes == "at a");
}

TEST_CASE_FIXTURE(Led, "replicated journal: a batch is durable when the service has stored it") {
  a.service->is_cut_off = true;
  const Lsn end = a.journal->append(a.epoch, "one").value().end;
  a.step();
  CHECK(a.journal->durable() < end);
  CHECK_FALSE(a.journal->problem().empty());
  a.service->is_cut_off = false;
  a.step();
  CHECK(a.journal->durable() >= end);
  CHECK(a.journal->problem().empty());
}

TEST_CASE_FIXTURE(Led, "replicated journal: the cache never has what the service has not stored") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  a.service->is_cut_off = true;
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  a.open();
  REQUIRE(a.replayed);
  CHECK(a.batches == std::vector<std::string>{"one"});
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: the bytes of a batch can be read before and after it is stored") {
  const Lsn begin = a.journal->append(a.epoch, "one two").value().begin;
  CHECK(a.journal->read(begin + 4, 3).value() == "two");
  a.step();
  CHECK(a.journal->read(begin + 4, 3).value() == "two");
}

TEST_CASE_FIXTURE(Pair, "replicated journal: nobody claims while the leader beats") {
  for (int i = 0; i < 40; ++i) {
    a.now += 100ms;
    b.now += 100ms;
    a.journal->beat();
    a.step();
    REQUIRE(b.followed(Followed::kOn));
    CHECK_FALSE(b.journal->may_claim());
    CHECK(a.journal->may_answer());
  }
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: a leader that cannot append may not answer once its lease is over") {
  CHECK(a.journal->may_answer());
  a.service->is_cut_off = true;
  a.now += 999ms;
  a.journal->beat();
  a.step();
  CHECK(a.journal->may_answer());
  a.now += 1ms;
  CHECK_FALSE(a.journal->may_answer());
  a.service->is_cut_off = false;
  a.step();
  CHECK(a.journal->may_answer());
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: a leader that cannot append is lost when another has had its time") {
  const Time led_at = a.now;
  CHECK(a.journal->lost_at() == led_at + 2250ms);
  a.service->is_cut_off = true;
  a.now += 500ms;
  a.journal->beat();
  a.step();
  CHECK(a.journal->lost_at() == led_at + 2250ms);
  a.service->is_cut_off = false;
  a.step();
  CHECK(a.journal->lost_at() == led_at + 2750ms);
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: another server claims when the lease is over, and not before") {
  REQUIRE(b.follow());
  b.now += 1s;
  CHECK_FALSE(b.journal->may_claim());
  b.now += 250ms;
  CHECK(b.journal->may_claim());
  b.lead();
  CHECK(b.epoch > a.epoch);
}

TEST_CASE_FIXTURE(Led,
                  "replicated journal: an entry that arrives late does not prolong the lease") {
  Peer b(log, "b");
  REQUIRE(b.follow());
  a.now += 100ms;
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  b.now += 5s;
  REQUIRE(b.follow());
  CHECK(b.batches.size() == 1);
  // A leader that is well would beat.
  b.now += 249ms;
  CHECK_FALSE(b.journal->may_claim());
  b.now += 1ms;
  CHECK(b.journal->may_claim());
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: an entry prolongs the lease from when it may have been sent") {
  Peer b(log, "b");
  REQUIRE(b.follow());
  // The clock of b runs faster than that of a, by as much as the margin allows.
  a.now += 4s;
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  b.now += 5s;
  REQUIRE(b.follow());
  CHECK_FALSE(b.journal->may_claim());
  b.now += 1249ms;
  CHECK_FALSE(b.journal->may_claim());
  b.now += 1ms;
  CHECK(b.journal->may_claim());
}

TEST_CASE_FIXTURE(Pair, "replicated journal: after a release another server claims at once") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.journal->release();
  a.step();
  CHECK_FALSE(a.journal->may_answer());
  b.lead();
  CHECK(b.batches == std::vector<std::string>{"one"});
}

TEST_CASE("replicated journal: a log that is held has no leader until its release") {
  SimulatedLog log;
  Peer a(log, "a");
  Peer mover(log, "mover");
  mover.holds = true;
  mover.open();
  mover.lead();
  REQUIRE(a.follow());
  a.now += 24h;
  CHECK_FALSE(a.journal->may_claim());
  CHECK(a.journal->problem() == "the log is held, so no node may lead: mover");
  // Not even when it is read anew.
  a.open();
  REQUIRE(a.follow());
  a.now += 24h;
  CHECK_FALSE(a.journal->may_claim());

  // Another process of the one that holds may go on.
  mover.open();
  REQUIRE(mover.follow());
  mover.now += 2s;
  mover.lead();
  mover.journal->release();
  mover.step();
  a.lead();
  CHECK(a.journal->problem().empty());
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: a server has caught up with what the log had a second ago at most") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  b.open();
  b.service->lag = 1;
  CHECK(b.followed(Followed::kOn));
  CHECK_FALSE(b.journal->has_caught_up());
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  b.now += 1001ms;
  CHECK(b.followed(Followed::kOn));
  CHECK(b.batches == std::vector<std::string>{"one"});
  CHECK(b.followed(Followed::kOn));
  CHECK_FALSE(b.journal->has_caught_up());
  b.service->lag = 0;
  CHECK(b.followed(Followed::kOn));
  CHECK(b.journal->has_caught_up());
}

TEST_CASE_FIXTURE(Pair, "replicated journal: a leader is heard once it appends") {
  a.step();
  b.open();
  REQUIRE(b.follow());
  CHECK_FALSE(b.journal->hears_leader());
  a.now += 1s;
  a.journal->beat();
  a.step();
  REQUIRE(b.follow());
  CHECK(b.journal->hears_leader());
  a.journal->release();
  a.step();
  REQUIRE(b.follow());
  CHECK_FALSE(b.journal->hears_leader());
}

TEST_CASE_FIXTURE(Pair, "replicated journal: a deposed leader learns of it when it appends") {
  REQUIRE(b.follow());
  b.now += 2s;
  b.lead();
  const Lsn end = a.journal->append(a.epoch, "late").value().end;
  a.step();
  CHECK(a.journal->epoch() != a.epoch);
  CHECK(a.journal->durable() < end);
  CHECK_FALSE(a.journal->append(a.epoch, "later"));
  a.open();
  REQUIRE(a.follow());
  CHECK(a.batches.empty());
}

TEST_CASE("replicated journal: of two claims at the same place one gets through") {
  SimulatedLog log;
  Peer a(log, "a");
  Peer b(log, "b");
  REQUIRE(a.follow());
  REQUIRE(b.follow());
  a.journal->claim();
  b.journal->claim();
  CHECK(a.followed(Followed::kLeads));
  CHECK(b.followed(Followed::kOn));
  CHECK_FALSE(b.journal->may_claim());
}

TEST_CASE("replicated journal: a refused claim is not made again at once") {
  SimulatedLog log;
  Peer a(log, "a");
  Peer b(log, "b");
  b.lead();
  REQUIRE(a.follow());
  REQUIRE(b.journal->append(b.epoch, "one"));
  b.step();
  a.service->lag = 1;
  a.now += 2s;
  REQUIRE(a.followed(Followed::kOn));
  REQUIRE(a.journal->may_claim());
  a.journal->claim();
  REQUIRE(a.followed(Followed::kOn));
  CHECK_FALSE(a.journal->may_claim());
  a.now += beat_interval(1s);
  CHECK(a.journal->may_claim());
}

TEST_CASE("replicated journal: a claim whose answer is lost leads when the log shows it") {
  SimulatedLog log;
  Peer a(log, "a");
  REQUIRE(a.follow());
  a.journal->claim();
  log.append(0, {.bytes = encode(EntryHead{.kind = EntryHead::Kind::kClaim,
                                           .log = 5,
                                           .sequence = 1,
                                           .epoch = 1,
                                           .at = Time{999s},
                                           .writer = 7,
                                           .node = "z",
                                           .notes = {}})});
  CHECK(a.followed(Followed::kOn));
  CHECK(a.journal->leader()->node == "z");
}

TEST_CASE_FIXTURE(Pair, "replicated journal: a restart reads only what its cache does not have") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  REQUIRE(b.follow());
  b.step();
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  b.open();
  REQUIRE(b.replayed);
  CHECK(b.batches == std::vector<std::string>{"one"});
  REQUIRE(b.follow());
  CHECK(b.batches == std::vector<std::string>{"one", "two"});
}

TEST_CASE("replicated journal: an entry of several messages arrives whole") {
  SimulatedLog log;
  log.message_bytes_max = 10;
  Peer a(log, "a");
  Peer b(log, "b");
  a.lead();
  const std::string batch(500, 'x');
  REQUIRE(a.journal->append(a.epoch, batch));
  a.step();
  REQUIRE(b.follow());
  CHECK(b.batches == std::vector<std::string>{batch});
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: an entry keeps its messages when the service takes longer ones") {
  a.step();
  log.message_bytes_max = 10;
  const std::string batch(500, 'x');
  REQUIRE(a.journal->append(a.epoch, batch));
  REQUIRE(a.journal->append(a.epoch, "two"));
  log.message_bytes_max = 1000;
  REQUIRE(a.journal->append(a.epoch, "three"));
  a.step();
  REQUIRE(b.follow());
  CHECK(b.batches == std::vector<std::string>{batch, "two", "three"});
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: a restart finds an entry of the time when messages were longer") {
  const std::string batch(500, 'x');
  REQUIRE(a.journal->append(a.epoch, batch));
  a.step();
  log.message_bytes_max = 10;
  a.open();
  REQUIRE(a.replayed);
  REQUIRE(a.follow());
  a.now += 2s;
  a.lead();
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  Peer b(log, "b");
  REQUIRE(b.follow());
  CHECK(b.batches == std::vector<std::string>{batch, "two"});
}

TEST_CASE_FIXTURE(Led,
                  "replicated journal: a log that ends within the cache's last entry is refused") {
  log.message_bytes_max = 10;
  REQUIRE(a.journal->append(a.epoch, std::string(500, 'x')));
  a.step();
  log.set_back(20);
  a.open();
  const auto followed = a.replayed ? a.follow() : a.replayed.error();
  REQUIRE_FALSE(followed);
  CHECK(followed.error().text.find("ends before message 21") != std::string::npos);
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: a log that was trimmed beyond the cache makes that useless") {
  a.step();
  REQUIRE(b.follow());
  for (int i = 0; i < 8; ++i) REQUIRE(a.journal->append(a.epoch, std::string(400, 'x')));
  a.step();
  log.trim(log.last());
  CHECK(b.followed(Followed::kUseless));
  CHECK(b.journal->is_cache_useless());
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: trimming removes from the service what the cache does not need") {
  Lsn end = 0;
  for (int i = 0; i < 400; ++i) {
    end = a.journal->append(a.epoch, std::string(700, 'x')).value().end;
  }
  a.step();
  REQUIRE(a.journal->durable() == end);
  a.step();
  CHECK(a.journal->trim(end) > 0);
  a.step();
  CHECK(log.begin() > 200);
  a.open();
  REQUIRE(a.replayed);
  CHECK(a.follow());
}

TEST_CASE("replicated journal: a cache of another log is refused and kept") {
  SimulatedLog log;
  SimulatedLog other;
  Peer a(log, "a");
  a.lead();
  a.step();
  Peer b(other, "b");
  b.log_name = 6;
  b.open();
  b.lead();
  b.step();
  other.replace(1, log.at(1));
  b.open();
  const auto followed = b.follow();
  REQUIRE_FALSE(followed);
  CHECK(followed.error().text.find("belongs to another log") != std::string::npos);
  CHECK_FALSE(b.journal->is_cache_useless());
}

TEST_CASE_FIXTURE(Led, "replicated journal: a log that ends before the cache is refused") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  SimulatedLog lost;
  a.move_to(lost);
  REQUIRE_FALSE(a.replayed);
  CHECK(a.replayed.error().text.find("ends before message 2") != std::string::npos);
  CHECK_FALSE(a.journal->is_cache_useless());
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: a standby of a log that was set back says so, and never claims") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  REQUIRE(b.follow());
  log.set_back(1);
  b.now += 2s;
  REQUIRE(b.journal->may_claim());
  b.journal->claim();
  const auto followed = b.follow();
  REQUIRE_FALSE(followed);
  CHECK(followed.error().text.find("ends before message 2") != std::string::npos);
  b.now += 2s;
  CHECK_FALSE(b.journal->may_claim());
  CHECK(log.last() == 1);
}

TEST_CASE_FIXTURE(
    Pair,
    "replicated journal: a standby with a slow disk keeps a bounded part of the log in memory") {
  for (int i = 0; i < 120; ++i) {
    const auto span = a.journal->append(a.epoch, std::string(1 << 20, 'x'));
    a.step();
    REQUIRE(a.journal->durable() >= span.value().end);
  }
  const auto visitor = [&](std::string_view bytes, Lsn) { return b.take(bytes); };
  for (int i = 0; i < 100; ++i) {
    b.journal->step_pump();
    REQUIRE(b.journal->follow(visitor));
  }
  CHECK(b.batches.size() <= (LogPump::kBehindBytes + LogPump::kAheadBytes) >> 20);
  for (int i = 0; i < 100; ++i) REQUIRE(b.follow());
  CHECK(b.batches.size() == 120);
}

TEST_CASE_FIXTURE(Led, "replicated journal: a leader whose log was set back leads no more") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  log.set_back(1);
  REQUIRE(a.journal->append(a.epoch, "two"));
  a.step();
  CHECK(a.journal->epoch() != a.epoch);
  CHECK(log.last() == 1);
}

TEST_CASE("replicated journal: entries that are none are refused in one line") {
  SimulatedLog log;
  log.append(0, {.bytes = "something else"});
  Peer a(log, "a");
  const auto followed = a.follow();
  REQUIRE_FALSE(followed);
  CHECK(followed.error().text == "entry 1 of the log was not written by Millrace");
  CHECK_FALSE(a.journal->may_claim());
}

TEST_CASE("replicated journal: a second server of the same name is noticed") {
  SimulatedLog log;
  Peer a(log, "a");
  Peer b(log, "a");
  REQUIRE(b.follow());
  a.lead();
  a.now += 10s;
  b.now += 10s;
  a.journal->beat();
  a.step();
  const auto followed = b.follow();
  REQUIRE_FALSE(followed);
  CHECK(followed.error().text.find("is called a leads") != std::string::npos);
}

TEST_CASE_FIXTURE(Led,
                  "replicated journal: what a server's former process wrote is no other server's") {
  a.now += 500ms;
  a.journal->beat();
  a.step();
  Peer restarted(log, "a");
  REQUIRE(restarted.journal->follow([](std::string_view, Lsn) { return Outcome<Done>(Done{}); }));
  // It is slow to read all.
  restarted.now += 10s;
  CHECK(restarted.followed(Followed::kOn));
}

TEST_CASE("replicated journal: a server whose claim was refused follows before it claims again") {
  SimulatedLog log;
  Peer a(log, "a");
  Peer b(log, "b");
  REQUIRE(b.follow());
  a.lead();
  b.journal->claim();
  for (int i = 0; i < 4; ++i) {
    b.journal->step_pump();
    REQUIRE(b.journal->follow([](std::string_view, Lsn) { return Outcome<Done>(Done{}); }));
    if (b.journal->may_claim()) b.journal->claim();
  }
  CHECK(b.journal->leader()->node == "a");
  CHECK_FALSE(b.journal->may_claim());
}

TEST_CASE_FIXTURE(
    Pair, "replicated journal: what a deposed leader had sent behind a refused entry is none") {
  REQUIRE(b.follow());
  const std::string second = encode(EntryHead{.kind = EntryHead::Kind::kBatch,
                                              .log = 5,
                                              .sequence = 3,
                                              .epoch = 1,
                                              .at = a.now,
                                              .writer = 7,
                                              .node = {},
                                              .notes = {}}) +
                             "second";
  b.now += 2s;
  b.lead();
  // The first one was to be message 2, which is the claim of `b` now.
  REQUIRE(log.append(2, {.bytes = second}));
  Peer c(log, "c");
  CHECK(c.followed(Followed::kOn));
  CHECK(c.batches.empty());
  CHECK(c.journal->leader()->node == "b");
}

TEST_CASE_FIXTURE(
    Led, "replicated journal: a batch behind one that was refused is none in the same epoch") {
  EntryHead head{.kind = EntryHead::Kind::kBatch,
                 .log = 5,
                 .sequence = 2,
                 .epoch = 0,
                 .at = a.now,
                 .writer = 7,
                 .node = {},
                 .notes = {}};
  REQUIRE(log.append(1, {.bytes = encode(head) + "of a former leader"}));
  head.sequence = 3;
  head.epoch = 1;
  REQUIRE(log.append(2, {.bytes = encode(head) + "whose predecessor is not there"}));
  Peer b(log, "b");
  CHECK(b.followed(Followed::kOn));
  CHECK(b.batches.empty());
  b.now += 2s;
  b.lead();
  REQUIRE(b.journal->append(b.epoch, "one"));
  b.step();
  Peer c(log, "c");
  CHECK(c.followed(Followed::kOn));
  CHECK(c.batches == std::vector<std::string>{"one"});
}

TEST_CASE_FIXTURE(Pair,
                  "replicated journal: a segment that the cache still writes to is not trimmed") {
  REQUIRE(b.follow());
  b.step();
  // The first segment is full, and the writer has not begun the next one.
  while (b.journal->extent().newest_begin == b.journal->extent().begin) {
    b.step();
    REQUIRE(a.journal->append(a.epoch, std::string(100, 'x')));
    a.step();
    b.journal->step_pump();
    REQUIRE(b.journal->follow([](std::string_view, Lsn) { return Outcome<Done>(Done{}); }));
  }
  const Journal::Extent extent = b.journal->extent();
  CHECK(extent.oldest_end == extent.begin);
  CHECK(b.journal->trim(extent.end) == 0);
  b.step();
  CHECK(b.journal->extent().oldest_end > extent.begin);
  CHECK(b.journal->trim(extent.end) == 1);
  b.step();
}

TEST_CASE_FIXTURE(Pair, "replicated journal: who took the lead from whom, and how, is in the log") {
  REQUIRE(b.follow());
  b.now = a.now + 1250ms;
  b.lead();
  b.journal->release();
  b.step();
  REQUIRE(a.journal->append(a.epoch, "too late"));
  a.step();
  a.now = b.now + 10ms;
  a.open();
  a.lead();
  // A server that was not there reads the same.
  Peer c(log, "c");
  REQUIRE(c.follow());
  const std::vector<SharedJournal::Takeover>& all = c.journal->takeovers();
  REQUIRE(all.size() == 3);
  CHECK((all[0].to == "a" && all[0].from.empty() && !all[0].gap));
  CHECK((all[1].to == "b" && all[1].from == "a" && !all[1].was_handed_over));
  CHECK(all[1].gap == 1250ms);
  CHECK((all[2].to == "a" && all[2].from == "b" && all[2].was_handed_over));
  CHECK(all[2].gap == 10ms);
}

TEST_CASE("replicated journal: the last takeovers are kept, over a restart too") {
  SimulatedLog log;
  Peer a(log, "a");
  for (std::size_t i = 0; i <= SharedJournal::kTakeoversMax; ++i) {
    a.lead();
    a.journal->release();
    a.step();
    a.open();
  }
  REQUIRE(a.replayed);
  const std::vector<SharedJournal::Takeover>& all = a.journal->takeovers();
  REQUIRE(all.size() == SharedJournal::kTakeoversMax);
  CHECK(all.front().epoch == Epoch{2});
  CHECK(all.back().epoch == Epoch{SharedJournal::kTakeoversMax + 1});
}

TEST_CASE_FIXTURE(Led, "replicated journal: a leader's figures tell of its appends and its lease") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  CHECK(a.journal->figures().in_flight == 1);
  const std::uint64_t before = a.journal->figures().applied;
  a.now += 3ms;
  a.step();
  const SharedJournal::Figures figures = a.journal->figures();
  CHECK(figures.in_flight == 0);
  CHECK(figures.applied == before + 1);
  CHECK(figures.appends.count() == 1);
  CHECK(figures.last_append == 3ms);
  CHECK(figures.lease_left == 997ms);
  CHECK(figures.cache_bytes > 0);
}

TEST_CASE_FIXTURE(Pair,
                  "replicated journal: the figures of a server that follows tell how far it is") {
  REQUIRE(a.journal->append(a.epoch, "one"));
  a.step();
  REQUIRE(b.follow());
  CHECK(b.journal->figures().applied == a.journal->figures().applied);
  CHECK(b.journal->figures().lease == 1s);
  CHECK_FALSE(b.journal->figures().lease_left);
}

}  // namespace millrace::journal
