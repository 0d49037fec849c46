#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

/// A log in memory that counts how often it is read.
class MemoryLog final : public Journal {
 public:
  static constexpr Lsn kBegin = 16;

  Outcome<Done> replay(const Visitor&) override { return Done{}; }
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  Result<Span, Deposed> append(Epoch /*epoch*/, RecordBatch batch) override {
    const Lsn begin = bytes_.size();
    bytes_ += batch;
    return Span{.begin = begin, .end = bytes_.size()};
  }
  [[nodiscard]] Lsn durable() const override { return bytes_.size(); }
  void on_durable(std::function<void()>) override {}
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    ++read_count;
    const bool is_bad = bad_at && begin <= *bad_at && *bad_at < begin + size;
    if (is_broken || is_bad) return Problem{.text = "unreadable", .is_passing = is_passing};
    return bytes_.substr(begin, size);
  }
  void expect(Lsn begin, std::size_t) override { ++expected[begin]; }
  [[nodiscard]] Extent extent() const override { return {}; }
  std::size_t trim(Lsn) override { return 0; }
  void sync() override {}

  std::size_t read_count = 0;
  std::map<Lsn, int> expected;
  bool is_broken = false;     ///< all of it
  std::optional<Lsn> bad_at;  ///< this byte
  bool is_passing = false;    ///< how both fail

 private:
  std::string bytes_ = std::string(kBegin, 'h');
};

/// A broker with room for few bodies, and its log.
struct SpillingBroker {
  explicit SpillingBroker(std::size_t bytes_max = 40'000) {
    fixture.ledger.memory().limit(log, bytes_max);
  }

  JobId put(std::string_view body) {
    const JobId id = fixture.put(body);
    append();
    return id;
  }

  void append() {
    const std::string batch = fixture.ledger.take_batch();
    if (batch.empty()) return;
    batches.push_back(batch);
    fixture.ledger.place(log.append(kOnlyEpoch, batch)->begin);
  }

  /// The log cannot give the body of this job any more.
  void spoil(JobId id) { log.bad_at = fixture.ledger.store().jobs().find(id)->body_at(); }

  /// What a restart makes of the log.
  [[nodiscard]] std::string tell_replayed() const {
    BrokerFixture other;
    Lsn begin = MemoryLog::kBegin;
    for (const std::string& batch : batches) {
      CHECK(other.ledger.replay(batch, begin));
      begin += batch.size();
    }
    return tell(other.broker.view());
  }

  MemoryLog log;
  BrokerFixture fixture;
  std::vector<std::string> batches;
};

}  // namespace millrace::test
