/// The compactor's decisions, turn by turn, over a log that is nothing but its places.

#include "server/turn/compactor.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::uint64_t kPlacesBytes = std::uint64_t{1} << 20;
constexpr Time kStart{1'600'000'000s};

/// Keeps no bytes. Its disk is as quick and as full as it is told to be.
class PlacesOnly final : public Journal, public DiskSpace {
 public:
  Outcome<Done> replay(const Visitor&) override { return Done{}; }

  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }

  Result<Span, Deposed> append(Epoch /*epoch*/, RecordBatch batch) override {
    if (end + batch.size() > segments_.back() + kPlacesBytes) segments_.push_back(end);
    const Lsn begin = end;
    end += batch.size();
    if (is_quick) durable_ = end;
    return Span{.begin = begin, .end = end};
  }

  [[nodiscard]] Lsn durable() const override { return durable_; }
  void on_durable(std::function<void()>) override {}
  Outcome<std::string> read(Lsn, std::size_t) override { return Problem{"not kept"}; }
  void expect(Lsn, std::size_t) override {}

  [[nodiscard]] Extent extent() const override {
    return {.begin = segments_.front(),
            .oldest_end = segments_.size() > 1 ? segments_[1] : segments_.front(),
            .newest_begin = segments_.back(),
            .end = end,
            .segment_bytes = kPlacesBytes};
  }

  std::size_t trim(Lsn before) override {
    std::size_t count = 0;
    for (; segments_.size() > 1 && segments_[1] <= before; ++count) segments_.pop_front();
    return count;
  }

  void sync() override { durable_ = end; }
  [[nodiscard]] const DiskSpace* disk_space() const override { return this; }

  [[nodiscard]] bool is_full() const override { return bytes_max_ != 0; }
  [[nodiscard]] std::uint64_t log_bytes_max() const override { return bytes_max_; }
  [[nodiscard]] bool is_oldest_shared() const override { return is_shared; }
  [[nodiscard]] std::size_t segment_count() const override { return segments_.size(); }

  /// The disk has stored all but that much.
  void lag(std::uint64_t bytes) { durable_ = std::max(durable_, end - std::min(end, bytes)); }

  /// The length of the files, when what was trimmed is removed at once.
  [[nodiscard]] std::uint64_t stored_bytes() const {
    return durable_ - std::min(durable_, segments_.front());
  }

  /// The disk is full from now on: with room for so much in all.
  void fill(std::uint64_t bytes) { bytes_max_ = bytes; }

  Lsn end = 0;
  bool is_quick = true;    ///< what is appended is durable at once
  bool is_shared = false;  ///< a backup has the oldest segment

 private:
  std::deque<Lsn> segments_{0};
  Lsn durable_ = 0;
  std::uint64_t bytes_max_ = 0;
};

struct Workshop {
  Workshop() : broker(ledger, format, {.random_seed = 1}), compactor(ledger, log) {}

  /// One that changes as little as clients do meanwhile.
  Compactor::Next turn() {
    (void)compactor.look_at_log();
    const Compactor::Next next = compactor.work();
    append();
    return next;
  }

  void append() {
    if (!ledger.has_batch()) return;
    ledger.place(log.append(kOnlyEpoch, ledger.take_batch())->begin);
  }

  JobId put(std::size_t bytes) {
    const std::string body(bytes, 'x');
    const JobId id = broker.put({.queue = "default", .body = body, .ttr_s = 60}, kStart).value();
    append();
    return id;
  }

  void remove(JobId id) {
    CHECK(broker.connections().remove(0, id, kStart));
    append();
  }

  /// Jobs of a thousand bytes until the log has so many segments; the first of them.
  JobId fill(std::size_t segments) {
    const JobId first = put(1000);
    while (log.segment_count() < segments) put(1000);
    turn();
    return first;
  }

  /// Removes every other job from there on, and compaction has done its share for that.
  void thin_out(JobId first, JobId count) {
    for (JobId id = first; id < first + count; id += 2) remove(id);
    turn();
  }

  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker;
  PlacesOnly log;
  Compactor compactor;
};

}  // namespace

TEST_CASE("compactor: unasked it writes a little, and waits until that is on the disk") {
  Workshop shop;
  const JobId first = shop.fill(12);
  // Half of them; what is left is in all segments.
  shop.thin_out(first, 11'000);
  shop.log.is_quick = false;
  const Lsn before = shop.log.end;
  while (shop.turn() == Compactor::Next::kTurn) {
  }
  const Lsn written = shop.log.end - before;
  CHECK(written >= kCompactionBytesMin);
  CHECK(written < 3 * kCompactionBytesMin);
  CHECK(shop.turn() == Compactor::Next::kDurable);
  CHECK(shop.log.end == before + written);
  SUBCASE("at the pace of what clients write") {
    for (int i = 0; i < 100; ++i) {
      const Lsn begin = shop.log.end;
      const std::string body(1000, 'x');
      CHECK(shop.broker.put({.queue = "default", .body = body, .ttr_s = 60}, kStart));
      const std::size_t theirs = shop.ledger.batch_bytes();
      CHECK(shop.turn() == Compactor::Next::kTurn);
      CHECK(shop.log.end - begin >= (1 + kCompactionPace) * theirs);
    }
  }
  SUBCASE("and goes on then") {
    shop.log.sync();
    CHECK(shop.turn() == Compactor::Next::kTurn);
    CHECK(shop.log.end > before + written);
  }
}

TEST_CASE("compactor: files stay within the bound while the disk lags by many segments") {
  Workshop shop;
  std::vector<JobId> jobs;
  for (int i = 0; i < 8000; ++i) jobs.push_back(shop.put(1000));
  shop.log.is_quick = false;
  const std::string body(1000, 'x');
  std::mt19937_64 random(1);
  std::uint64_t most = 0;
  for (int i = 1; i <= 60'000; ++i) {
    JobId& job = jobs[random() % jobs.size()];
    REQUIRE(shop.broker.connections().remove(0, job, kStart));
    job = shop.broker.put({.queue = "default", .body = body, .ttr_s = 60}, kStart).value();
    if (i % 64 != 0) continue;
    shop.turn();
    shop.log.lag(16 * kPlacesBytes);
    most = std::max(most, shop.log.stored_bytes());
  }
  CHECK(most > shop.ledger.live_bytes());
  CHECK(most <= 2 * shop.ledger.live_bytes() + 4 * kPlacesBytes);
}

TEST_CASE("compactor: what it owes for many batches is written in several") {
  Workshop shop;
  const JobId first = shop.fill(40);
  shop.thin_out(first, 38'000);
  shop.log.is_quick = false;
  while (shop.turn() == Compactor::Next::kTurn) {
  }
  CHECK_FALSE(shop.compactor.owes());
  const Lsn before = shop.log.end;
  while (shop.log.end - before < 2 * kPlacesBytes) shop.put(1000);
  const std::uint64_t theirs = shop.log.end - before;
  for (bool is_first = true; is_first || shop.compactor.owes(); is_first = false) {
    const Lsn begin = shop.log.end;
    REQUIRE(shop.turn() == Compactor::Next::kTurn);
    CHECK(shop.log.end - begin < kCompactionBytesMax + 2000);
  }
  CHECK(shop.log.end - before >= (1 + kCompactionPace) * theirs);
}

TEST_CASE(
    "compactor: while bodies may be read later, nothing is written again, but on a full disk") {
  Workshop shop;
  const JobId first = shop.fill(12);
  for (JobId id = first; id < first + 11'000; id += 2) shop.remove(id);
  Bodies& bodies = shop.ledger.store().jobs().bodies();
  bodies.set_awaited(true);
  CHECK(shop.turn() == Compactor::Next::kNothing);
  SUBCASE("until they are read") {
    bodies.set_awaited(false);
  }
  SUBCASE("which cannot wait") {
    shop.log.fill(shop.log.end + 4 * kPlacesBytes);
  }
  CHECK(shop.turn() == Compactor::Next::kTurn);
}

TEST_CASE("compactor: on a full disk what a backup has does not go before the backup") {
  Workshop shop;
  const JobId first = shop.fill(6);
  for (JobId id = first; id < first + 2000; ++id) shop.remove(id);
  shop.log.fill(shop.log.end + kPlacesBytes);
  const Lsn oldest = shop.log.extent().begin;
  // Its end was decided on before the backup came.
  CHECK(shop.turn() == Compactor::Next::kTurn);
  shop.log.is_shared = true;
  for (int i = 0; i < 10; ++i) shop.turn();
  CHECK(shop.log.extent().begin == oldest);
  shop.log.is_shared = false;
  for (int i = 0; i < 10; ++i) shop.turn();
  CHECK(shop.log.extent().begin > oldest);
}

TEST_CASE("compactor: what ended during a round on a full disk is what the next one frees") {
  Workshop shop;
  const JobId first = shop.fill(12);
  for (JobId id = first; id < first + 600; ++id) shop.remove(id);
  shop.log.fill(shop.log.end + kPlacesBytes / 2);
  JobId next = first + 600;
  const std::uint64_t needed = shop.ledger.live_bytes();
  // While the log is gone through once, clients end what was written once more already.
  const Lsn round_end = shop.log.end;
  while (shop.log.extent().begin < round_end) {
    REQUIRE(shop.turn() != Compactor::Next::kNothing);
    if (shop.log.extent().begin < round_end / 2) continue;
    for (int i = 0; i < 6; ++i) shop.remove(next++);
  }
  REQUIRE(needed - shop.ledger.live_bytes() > kPlacesBytes);
  // So there is room for jobs that become longer: it is not counted as if it were needed.
  shop.turn();
  CHECK(shop.compactor.look_at_log().admission == Admission::kNoJobs);
}

TEST_CASE("compactor: what clients write beside a round on a full disk is told apart by another") {
  Workshop shop;
  const JobId first = shop.fill(12);
  for (JobId id = first; id < first + 2200; ++id) shop.remove(id);
  shop.log.fill(shop.log.end + kPlacesBytes);
  // All of this is obsolete, though no round that began before it could free it.
  const Lsn round_end = shop.log.end;
  std::uint64_t written = 0;
  while (shop.log.extent().begin < round_end) {
    REQUIRE(shop.turn() != Compactor::Next::kNothing);
    for (int i = 0; i < 4 && written < 2 * kPlacesBytes; ++i, written += 10'000) {
      shop.remove(shop.put(10'000));
    }
  }
  shop.turn();
  REQUIRE(shop.compactor.look_at_log().admission == Admission::kEndingsOnly);
  // Nobody may write now, so nothing else would show it.
  int turns = 0;
  while (shop.turn() != Compactor::Next::kNothing) REQUIRE(++turns < 10'000);
  CHECK(shop.compactor.look_at_log().admission == Admission::kNoJobs);
}

}  // namespace millrace::server
