#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"

namespace millrace::test {

/// Any time will do; this one is 2020-09-13 12:26:40.
inline constexpr Time kStart{1'600'000'000s};

/// Jobs are named j<id>; a body `retry=N` sets the rule, a body `jid=X` or `jid=X,...` the name, by
/// which it is found. `type=T,` in it is the type, `type=T/W,` one in the wrapper W.
class PlainFormat : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job& job) const override;
  [[nodiscard]] std::uint32_t name_hash(std::string_view body) const override;
  [[nodiscard]] std::uint32_t name_hash_of_put(JobId id, std::string_view body) const override;
  [[nodiscard]] std::uint32_t hash_of_name(std::string_view jid) const override;
  [[nodiscard]] bool is_same(const Job& job, std::string_view body) const override;
  [[nodiscard]] std::optional<KeyedHash> push_key(std::string_view body, const PushTarget& target,
                                                  const LockSecret& secret) const override;
  [[nodiscard]] std::string_view name_part(const Job& job) const override;
  [[nodiscard]] std::string_view type_part(const Job& job) const override;
  [[nodiscard]] Type read_type(std::string_view part) const override;
  void render(const Job& job, std::string_view queue, WallClock clock,
              std::string& out) const override;
};

/// Remembers what the broker delivers.
class FakeSession : public Session {
 public:
  struct Got {
    Delivery::Kind kind;
    JobId job;
    std::uint64_t count;
  };

  void start(Time) override {}
  void receive(std::string_view, Time) override {}
  void resume(Time) override {}
  void end_of_input(Time) override {}
  void deliver(const Delivery& delivery, Time now) override;
  void close(Time) override {}
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return false; }

  /// The last delivery since the last call.
  std::optional<Got> take();

 private:
  std::deque<Got> got_;
};

/// A broker with a clock in hand, spoken to in the words of the domain.
class BrokerFixture {
 public:
  explicit BrokerFixture(std::uint64_t seed = 1)
      : BrokerFixture(Broker::Options{.random_seed = seed}) {}
  explicit BrokerFixture(const Broker::Options& options);

  /// A connection that uses and watches `default`.
  ClientId client();
  void leave(ClientId client) { broker.disconnect(client, now); }
  [[nodiscard]] std::optional<FakeSession::Got> delivered(ClientId client) {
    return sessions.at(client - 1).take();
  }

  JobId put(std::string_view body, NewJob job = {.queue = "default", .ttr_s = 60});
  JobId push(std::string_view body, std::string_view queue = "default");
  /// Pushes a job that is due in so long.
  JobId schedule(std::string_view body, Duration in, std::string_view queue = "default");
  /// Pushes a job and makes it dead.
  JobId push_dead(std::string_view body, std::string_view queue = "default");

  /// The id of the job reserved at once, or nothing.
  std::optional<JobId> reserve(ClientId client);
  std::optional<JobId> fetch(ClientId client, std::string_view wid,
                             std::vector<std::string_view> queues = {"default"});
  /// Begins to wait; false when the answer came at once.
  bool wait(ClientId client, Duration at_most = 3600s);
  bool wait_for(ClientId client, std::vector<std::string_view> queues, std::string_view wid,
                Duration at_most = 3600s);

  /// Moves the clock, stopping wherever something is due.
  void advance(Duration by);
  /// Lets everything due now happen.
  void settle();

  [[nodiscard]] const Job& job(JobId id) const;
  [[nodiscard]] bool has(JobId id) const { return broker.view().jobs().find(id) != nullptr; }
  [[nodiscard]] JobState state(JobId id) const { return job(id).state; }

  PlainFormat format;
  Ledger ledger;
  Broker broker;
  Time now = kStart;
  std::deque<FakeSession> sessions;
};

/// Everything that a restart must bring back, as text: jobs with all their fields, kept and paused
/// queues, counters. Jobs in a connection's hands are told as ready, since they will be.
[[nodiscard]] std::string tell(const View& view);

}  // namespace millrace::test
