#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

inline constexpr BatchRole kComplete = BatchRole::kComplete;
inline constexpr BatchRole kSuccess = BatchRole::kSuccess;
inline constexpr BatchRole kDeath = BatchRole::kDeath;

/// A broker with batches, and a worker `w`. A callback is named by its role and its batch, as
/// `success-7`, and comes into the queue `callbacks`.
struct BatchFixture : BrokerFixture {
  ClientId worker = client();
  Lsn log_end = 0;

  static std::string callback_name(BatchRole role, JobBatchId batch) {
    const char* const names[] = {"", "complete-", "success-", "death-"};
    return names[static_cast<int>(role)] + std::to_string(batch);
  }

  /// An open batch of that number.
  void add(JobBatchId id, std::initializer_list<BatchRole> roles = {kComplete, kSuccess},
           JobBatchId parent = 0) {
    NewJobBatch made{.id = id, .parent = parent, .description = "a batch", .callbacks = {}};
    std::vector<std::string> bodies;
    for (const BatchRole role : roles) bodies.push_back("jid=" + callback_name(role, id));
    std::size_t i = 0;
    for (const BatchRole role : roles) {
      made.callbacks.push_back({.role = static_cast<std::uint32_t>(role),
                                .queue = "callbacks",
                                .body = bodies[i++],
                                .ttr_s = 1800});
    }
    REQUIRE(broker.batches().add(made, now));
  }
  void open(JobBatchId id) { REQUIRE(broker.batches().open(id, now)); }
  void commit(JobBatchId id) { REQUIRE(broker.batches().commit(id, now)); }

  JobId push_member(JobBatchId batch, std::string_view body = "", JobFeatures features = {},
                    std::string_view queue = "default") {
    features.batch = batch;
    const NewJob job{.kind = JobKind::kWorkUnit,
                     .queue = queue,
                     .body = body,
                     .ttr_s = 1800,
                     .features = features};
    const auto id = broker.put(job, now);
    REQUIRE(id);
    return *id;
  }

  void fetch_next(std::string_view queue = "default") { REQUIRE(fetch(worker, "w", {queue})); }
  void ack_named(std::string_view jid) { REQUIRE(broker.workers().ack(worker, jid, now)); }
  void fail_named(std::string_view jid) { REQUIRE(broker.workers().fail(worker, jid, {}, now)); }
  void ack(JobId id) { ack_named(format.identify(job(id)).jid); }
  /// The worker runs the next job of the queue.
  void run(std::string_view queue = "default") {
    const auto id = fetch(worker, "w", {queue});
    REQUIRE(id);
    ack(*id);
  }
  /// And fails.
  JobId run_badly(std::string_view queue = "default") {
    const auto id = fetch(worker, "w", {queue});
    REQUIRE(id);
    fail_named(format.identify(job(*id)).jid);
    return *id;
  }
  void change(JobId id, Mutation::Action action) {
    REQUIRE(broker.admin().change(id, action, now));
  }
  /// The callback is the next job of its queue: it is run.
  void run_callback(BatchRole role, JobBatchId batch) {
    const auto id = fetch(worker, "w", {"callbacks"});
    REQUIRE(id);
    CHECK(format.identify(job(*id)).jid == callback_name(role, batch));
    ack(*id);
  }

  /// The records go into the log: a turn has only so many.
  void end_turn() {
    if (!ledger.take_batch().empty()) ledger.place(log_end += 1'000'000);
  }

  [[nodiscard]] bool has_batch(JobBatchId id) const { return broker.view().batches().find(id); }
  [[nodiscard]] const JobBatchFields& batch(JobBatchId id) const {
    REQUIRE(has_batch(id));
    return broker.view().batches().find(id)->fields;
  }
  [[nodiscard]] CallbackState callback(JobBatchId id, BatchRole role) const {
    return batch(id).callback(role);
  }
  [[nodiscard]] bool is_enqueued(JobBatchId id, BatchRole role) const {
    return callback(id, role) == CallbackState::kEnqueued;
  }
  [[nodiscard]] bool is_waiting(JobBatchId id, BatchRole role) const {
    return callback(id, role) == CallbackState::kWaiting;
  }
  /// total/pending/failed
  [[nodiscard]] std::string counts(JobBatchId id) const {
    const JobBatchFields& fields = batch(id);
    return std::to_string(fields.total) + "/" + std::to_string(fields.pending) + "/" +
           std::to_string(fields.failed());
  }
};

}  // namespace millrace::test
