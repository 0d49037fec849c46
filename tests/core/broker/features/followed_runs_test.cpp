#include <string>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

using test::BrokerFixture;

/// A leader, and a standby that applies each batch 20 ms later, by a clock that is 3 s ahead.
struct Followed : BrokerFixture {
  void follow() {
    const std::string batch(ledger.take_batch().view());
    ledger.place(log_end);
    CHECK(standby.broker.follow(batch, log_end, now + 3s + 20ms));
    log_end += batch.size();
  }

  [[nodiscard]] const QueueMeter& meter() const {
    return *standby.broker.view().queues().find("default")->meter;
  }

  BrokerFixture standby;
  Lsn log_end = 0;
};

std::optional<TypeMeter> type_of(const Broker& broker, std::string_view name) {
  std::optional<TypeMeter> found;
  broker.types().each([&](std::string_view type, const TypeMeter& meter) {
    if (type == name) found = meter;
  });
  return found;
}

}  // namespace

TEST_CASE("followed runs: a job of a worker waits, runs and ends at the standby, too") {
  Followed leader;
  const ClientId client = leader.client();
  leader.push("jid=one,type=T,");
  leader.follow();
  leader.now += 5s;
  CHECK(leader.fetch(client, "w1"));
  leader.follow();
  leader.now += 8s;
  CHECK(leader.broker.workers().ack(client, "one", leader.now));
  leader.follow();
  CHECK(leader.meter().enqueued.total == 1);
  CHECK(leader.meter().processed.total == 1);
  CHECK(leader.meter().failed.total == 0);
  CHECK(leader.meter().wait.sum() == 5s);
  CHECK(leader.meter().run.sum() > 7900ms);
  CHECK(leader.meter().run.sum() < 8100ms);
  CHECK(type_of(leader.standby.broker, "T")->processed.total == 1);
  CHECK(leader.standby.broker.view().tally().jobs_put == 1);
}

TEST_CASE("followed runs: a run that failed is one, and its failure is told") {
  struct Watch final : FailureWatch {
    void on_failed(const Failure& failure, JobId, Time) override { said += failure.message; }
    std::string said;
  } watch;
  Followed leader;
  leader.standby.broker.watch_failures(&watch);
  const ClientId client = leader.client();
  leader.push("jid=one,type=T,retry=5");
  CHECK(leader.fetch(client, "w1"));
  leader.now += 2s;
  CHECK(leader.broker.workers().fail(client, "one", {.errtype = "E", .message = "m"}, leader.now));
  leader.follow();
  CHECK(leader.meter().processed.total == 1);
  CHECK(leader.meter().failed.total == 1);
  CHECK(leader.meter().run.sum() == 2s);
  CHECK(watch.said == "m");
  leader.standby.broker.watch_failures(nullptr);
}

TEST_CASE("followed runs: of jobs that connections delete, those count that were held") {
  Followed leader;
  const ClientId client = leader.client();
  const JobId done = leader.put("a");
  const JobId other = leader.put("b");
  leader.follow();
  CHECK(leader.reserve(client) == done);
  leader.follow();
  CHECK(leader.broker.connections().remove(client, done, leader.now));
  leader.follow();
  CHECK(leader.meter().processed.total == 1);
  CHECK(leader.broker.connections().remove(client, other, leader.now));
  leader.follow();
  CHECK(leader.meter().processed.total == 1);
  CHECK(leader.meter().enqueued.total == 2);
}

TEST_CASE("followed runs: what compaction writes once more is not counted again") {
  Followed leader;
  leader.put("a");
  leader.follow();
  const Lsn end = leader.log_end;
  leader.ledger.rewrite(end, 1000);
  leader.follow();
  CHECK(leader.meter().enqueued.total == 1);
  CHECK(test::tell(leader.standby.broker.view()) == test::tell(leader.broker.view()));
}

}  // namespace millrace
