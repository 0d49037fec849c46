/// What a journal over a shared log promises beyond other journals (core/ports/shared_journal.hpp).

#include "journal/shared/shared_log_journal.hpp"

#include "journal/fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

using ClaimRefusal = SharedJournal::ClaimRefusal;

/// Two servers, of which none leads yet.
struct TwoServers {
  static SharedLogJournal server(SharedLog& log) {
    return {log, 512, SharedLogJournal::Sending::kStepped};
  }

  /// What the server is handed from `from` on, and where that ends.
  static std::optional<Lsn> follow(SharedLogJournal& journal, Lsn from, Batches& batches) {
    return journal
        .follow(from,
                [&](std::string_view batch, Lsn /*begin*/) {
                  batches.emplace_back(batch);
                  return Outcome<Done>(Done{});
                })
        .value();
  }

  SharedLog log;
  SharedLogJournal a = server(log);
  SharedLogJournal b = server(log);
};

}  // namespace

TEST_CASE("shared log: each claim begins a later epoch") {
  TwoServers two;
  const Epoch first = two.a.claim(0).value();
  const Epoch second = two.b.claim(two.log.end()).value();
  CHECK(second > first);
  CHECK(two.a.epoch() == second);
}

TEST_CASE("shared log: an append of an earlier epoch is refused, and nothing is stored") {
  TwoServers two;
  const Epoch first = two.a.claim(0).value();
  const Epoch second = two.b.claim(two.log.end()).value();
  const Lsn end = two.log.end();
  const auto refused = two.a.append(first, "late");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().by == second);
  CHECK_FALSE(two.a.step());
  CHECK(two.log.end() == end);
}

TEST_CASE("shared log: what was not stored before another server's claim never is") {
  TwoServers two;
  const Epoch first = two.a.claim(0).value();
  const auto stored = two.a.append(first, "stored").value();
  REQUIRE(two.a.step());
  const auto lost = two.a.append(first, "lost").value();
  REQUIRE(two.b.claim(two.log.end()));
  bool is_woken = false;
  two.a.on_durable([&] { is_woken = true; });
  CHECK_FALSE(two.a.step());
  CHECK(is_woken);
  CHECK(two.a.durable() >= stored.end);
  CHECK(two.a.durable() < lost.end);
  Batches batches;
  TwoServers::follow(two.b, 0, batches);
  CHECK(batches == Batches{"stored"});
}

TEST_CASE("shared log: a follower is handed each batch once, when it is durable") {
  TwoServers two;
  const Epoch epoch = two.a.claim(0).value();
  Batches batches;
  std::optional<Lsn> at = TwoServers::follow(two.b, 0, batches);
  for (const char* const batch : {"one", "two"}) (void)two.a.append(epoch, batch);
  at = TwoServers::follow(two.b, *at, batches);
  CHECK(batches.empty());
  REQUIRE(two.a.step());
  at = TwoServers::follow(two.b, *at, batches);
  CHECK(batches == Batches{"one"});
  REQUIRE(two.a.step());
  at = TwoServers::follow(two.b, *at, batches);
  CHECK(batches == Batches{"one", "two"});
  CHECK(*at == two.log.end());
}

TEST_CASE("shared log: a server that has not applied everything cannot claim the lead") {
  TwoServers two;
  const Epoch epoch = two.a.claim(0).value();
  Batches batches;
  const std::optional<Lsn> at = TwoServers::follow(two.b, 0, batches);
  (void)two.a.append(epoch, "batch");
  REQUIRE(two.a.step());
  const auto refused = two.b.claim(*at);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == ClaimRefusal::kBehind);
  CHECK(two.a.epoch() == epoch);
  CHECK(two.b.claim(*TwoServers::follow(two.b, *at, batches)));
}

TEST_CASE("shared log: a follower learns that the log was trimmed beyond what it has applied") {
  TwoServers two;
  const Epoch epoch = two.a.claim(0).value();
  Batches batches;
  const std::optional<Lsn> at = TwoServers::follow(two.b, 0, batches);
  Lsn end = 0;
  for (int i = 0; i < 4; ++i) end = two.a.append(epoch, std::string(400, 'x')).value().end;
  two.a.sync();
  CHECK(two.a.trim(end) > 0);
  CHECK_FALSE(TwoServers::follow(two.b, *at, batches));
}

TEST_CASE("shared log: an append whose request or answer is lost is stored once") {
  for (const auto loss : {SharedLog::Loss::kRequest, SharedLog::Loss::kAnswer}) {
    TwoServers two;
    const Epoch epoch = two.a.claim(0).value();
    two.log.loss = [&, left = 1]() mutable { return left-- > 0 ? loss : SharedLog::Loss::kNone; };
    (void)two.a.append(epoch, "batch");
    CHECK(two.a.step());
    Batches batches;
    TwoServers::follow(two.b, 0, batches);
    CHECK(batches == Batches{"batch"});
  }
}

TEST_CASE("shared log: a claim in doubt is not believed, and does no harm") {
  TwoServers two;
  two.log.loss = [left = 1]() mutable {
    return left-- > 0 ? SharedLog::Loss::kAnswer : SharedLog::Loss::kNone;
  };
  const auto unsure = two.a.claim(0);
  REQUIRE_FALSE(unsure);
  CHECK(unsure.error() == ClaimRefusal::kUnknown);
  Batches batches;
  const Epoch epoch = two.a.claim(*TwoServers::follow(two.a, 0, batches)).value();
  CHECK(epoch == two.log.epoch());
}

}  // namespace millrace::journal
