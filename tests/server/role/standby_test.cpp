#include "server/role/standby.hpp"

#include <string>

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "journal/shared/shared_log_journal.hpp"
#include "server/role/replay.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr Time kPutAt{1'600'000'000s};

/// A server's state over a shared log.
struct Peer {
  explicit Peer(journal::SharedLog& log)
      : journal(log, 512, journal::SharedLogJournal::Sending::kAtOnce), broker(ledger, format, {}) {
    REQUIRE(replay(journal, ledger, [](Lsn) {}));
  }

  /// As the leader in `epoch`.
  Lsn put(Epoch epoch, const std::string& body) {
    REQUIRE(broker.put({.queue = "mail", .body = body}, kPutAt));
    const Journal::Span span = journal.append(epoch, ledger.take_batch()).value();
    ledger.place(span.begin);
    return span.end;
  }

  [[nodiscard]] std::uint64_t jobs() const { return broker.view().job_count(JobState::kReady); }

  journal::SharedLogJournal journal;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker;
};

}  // namespace

TEST_CASE("standby: it has applied everything that the leader wrote, and then can lead") {
  journal::SharedLog log;
  Peer leader(log);
  const Epoch epoch = leader.journal.claim(0).value();
  leader.put(epoch, "before");
  Peer peer(log);
  Standby standby(peer.ledger, peer.journal);
  CHECK(peer.jobs() == 1);
  leader.put(epoch, "after");
  REQUIRE(standby.follow().value());
  CHECK(peer.jobs() == 2);
  CHECK(standby.applied() == log.end());
  CHECK(standby.claim());
}

TEST_CASE("standby: it cannot lead before it has applied everything") {
  journal::SharedLog log;
  Peer leader(log);
  const Epoch epoch = leader.journal.claim(0).value();
  Peer peer(log);
  Standby standby(peer.ledger, peer.journal);
  leader.put(epoch, "x");
  const auto refused = standby.claim();
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == SharedJournal::ClaimRefusal::kBehind);
  REQUIRE(standby.follow().value());
  CHECK(standby.claim());
}

TEST_CASE("standby: it says when the log was trimmed beyond what it has applied") {
  journal::SharedLog log;
  Peer leader(log);
  const Epoch epoch = leader.journal.claim(0).value();
  Peer peer(log);
  Standby standby(peer.ledger, peer.journal);
  Lsn end = 0;
  for (int i = 0; i < 4; ++i) end = leader.put(epoch, std::string(400, 'x'));
  leader.journal.trim(end);
  CHECK_FALSE(standby.follow().value());
  CHECK(peer.jobs() == 0);
}

TEST_CASE("standby: a batch that makes no sense is a problem") {
  journal::SharedLog log;
  Peer leader(log);
  const Epoch epoch = leader.journal.claim(0).value();
  Peer peer(log);
  Standby standby(peer.ledger, peer.journal);
  REQUIRE(leader.journal.append(epoch, "\xff"));
  CHECK_FALSE(standby.follow());
}

}  // namespace millrace::server
