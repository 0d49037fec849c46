// Does one operation of the core so often that its instructions can be counted: run by
// instructions.py in callgrind, which counts only the `Counting` parts of what is in `Counted`.
// Without arguments it names the operations, with one of the names it says how often it did that.

#include <valgrind/callgrind.h>

#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "core/broker/bulk_changes.hpp"
#include "core/ports/cron_board.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/site.hpp"
#include "world.hpp"

namespace {

using namespace millrace;

constexpr std::uint64_t kTimes = 10'000;
constexpr std::uint64_t kMany = 100'000;
constexpr std::uint64_t kPages = 20;

struct Counted {
  Counted() { CALLGRIND_START_INSTRUMENTATION; }
  ~Counted() { CALLGRIND_STOP_INSTRUMENTATION; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

using Action = void (World::*)();

void repeat(World& world, Action action, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) (world.*action)();
}

/// With so many jobs in the server that came in by `fill`; each action leaves `left` more of them.
std::uint64_t act(Action action, std::uint64_t left, Action fill, std::uint64_t before) {
  World world;
  repeat(world, fill, before);
  {
    const Counted counted;
    repeat(world, action, kTimes);
  }
  CHECK(world.broker.view().orders().count(JobState::kReady) == before + left * kTimes);
  return kTimes;
}

template <std::uint64_t before>
std::uint64_t put() {
  return act(&World::put, 1, &World::put, before);
}

template <std::uint64_t before>
std::uint64_t put_reserve_delete() {
  return act(&World::put_reserve_delete, 0, &World::put, before);
}

template <std::uint64_t before>
std::uint64_t push() {
  return act(&World::push, 1, &World::push, before);
}

/// By one of 100 users.
template <void (World::*action)(), std::uint64_t left>
std::uint64_t act_as_user() {
  World world;
  world.have_users(100);
  {
    const Counted counted;
    repeat(world, action, kTimes);
  }
  CHECK(world.broker.view().orders().count(JobState::kReady) == left * kTimes);
  return kTimes;
}

std::uint64_t push_ahead() {
  return act(&World::push_ahead, 1, &World::push, 0);
}

std::uint64_t push_ahead_fetch_ack() {
  return act(&World::push_ahead_fetch_ack, 0, &World::push, 0);
}

template <std::uint64_t before>
std::uint64_t push_fetch_ack() {
  return act(&World::push_fetch_ack, 0, &World::push, before);
}

/// FETCH that names so many queues before the one with the job, all of which are full.
template <std::uint64_t full>
std::uint64_t fetch() {
  World world;
  static const ThrottleRule kRule{.pattern = "", .limits = {.concurrency = 1, .timeout_s = 60}};
  const auto find = [](std::string_view queue) {
    return queue.starts_with("throttled") ? &kRule : nullptr;
  };
  world.broker.admin().set_throttle_rules({.list = {}, .find = find}, world.now);
  std::string command = "FETCH";
  for (std::uint64_t i = 0; i < full; ++i) {
    const std::string queue = "throttled-" + std::to_string(i);
    for (int job = 0; job < 2; ++job) {
      world.tell(*world.faktory, R"(PUSH {"jid":"job-)" + std::to_string(job) + queue +
                                     R"(","jobtype":"SomeJob","args":[],"queue":")" + queue +
                                     "\"}\r\n");
    }
    world.tell(*world.faktory, "FETCH " + queue + "\r\n");
    command += " " + queue;
  }
  command += " default\r\n";
  repeat(world, &World::push, kTimes);
  {
    const Counted counted;
    for (std::uint64_t i = 0; i < kTimes; ++i) world.tell(*world.faktory, command);
  }
  CHECK(world.broker.view().orders().count(JobState::kReady) == full);
  return kTimes;
}

std::uint64_t push_unique() {
  return act(&World::push_unique, 1, &World::push, 0);
}

std::uint64_t push_with_custom() {
  return act(&World::push_with_custom, 1, &World::push, 0);
}

std::uint64_t push_fetch_ack_member() {
  World world;
  world.open_batch();
  {
    const Counted counted;
    repeat(world, &World::push_fetch_ack_member, kTimes);
  }
  CHECK(world.broker.view().counters().processed == kTimes);
  return kTimes;
}

std::uint64_t push_fetch_ack_kept() {
  World world({.finished = {.jobs_max = 1'000, .is_durable = true}});
  {
    const Counted counted;
    repeat(world, &World::push_fetch_ack, kTimes);
  }
  CHECK(world.broker.view().finished().size() == 1'000);
  return kTimes;
}

std::uint64_t push_fetch_ack_tracked() {
  return act(&World::push_fetch_ack_tracked, 0, &World::push, 0);
}

std::uint64_t track() {
  World world;
  repeat(world, &World::push_tracked, 1'000);
  {
    const Counted counted;
    repeat(world, &World::track, kTimes);
  }
  CHECK(world.broker.view().tracks().size() == 1);
  return kTimes;
}

std::uint64_t push_ten() {
  World world;
  {
    const Counted counted;
    repeat(world, &World::push_ten, kTimes / 10);
  }
  CHECK(world.broker.view().orders().count(JobState::kReady) == kTimes);
  return kTimes;
}

std::uint64_t push_fetch_fail() {
  World world;
  {
    const Counted counted;
    repeat(world, &World::push_fetch_fail, kTimes);
  }
  CHECK(world.broker.view().orders().count(JobState::kRetrying) == kTimes);
  return kTimes;
}

std::uint64_t mutate() {
  World world;
  repeat(world, &World::push_scheduled, kTimes);
  const View& view = world.broker.view();
  CHECK(view.orders().count(JobState::kScheduled) == kTimes);
  {
    const Counted counted;
    world.tell(*world.faktory,
               R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"jobtype":"SomeJob"}})"
               "\r\n");
    world.settle();
  }
  CHECK(view.orders().count(JobState::kDead) == kTimes);
  return kTimes;
}

std::uint64_t put_delayed() {
  World world;
  {
    const Counted counted;
    repeat(world, &World::put_delayed, kTimes);
    world.now += 1s;
    world.settle();
  }
  CHECK(world.broker.view().tally().scheduled_enqueued == kTimes);
  return kTimes;
}

std::uint64_t kick() {
  World world;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    world.put();
    world.reserve_and("bury", " 0");
  }
  const View& view = world.broker.view();
  CHECK(view.orders().count(JobState::kDead) == kTimes);
  {
    const Counted counted;
    world.tell(*world.beanstalk, "kick " + std::to_string(kTimes) + "\r\n");
    world.settle();
  }
  CHECK(view.orders().count(JobState::kReady) == kTimes);
  return kTimes;
}

/// A restart after so many of these actions, each of which was a batch of its own.
std::uint64_t replay(Action action) {
  std::string log;
  World before;
  before.log = &log;
  repeat(before, action, kTimes);
  World after;
  {
    const Counted counted;
    const Counting counting;
    CHECK(after.ledger.replay(log, 0));
  }
  const View& view = after.broker.view();
  CHECK(view.counters().next_id == kTimes + 1);
  CHECK(view.orders().count(JobState::kReady) ==
        before.broker.view().orders().count(JobState::kReady));
  return kTimes;
}

std::uint64_t replay_put() {
  return replay(&World::put);
}
std::uint64_t replay_push_fetch_ack() {
  return replay(&World::push_fetch_ack);
}

/// The page shows no entries.
class NoCron final : public CronBoard {
 public:
  [[nodiscard]] std::size_t count() const override { return 0; }
  [[nodiscard]] std::vector<Entry> page(std::size_t, std::size_t) const override { return {}; }
  [[nodiscard]] std::optional<Entry> find(std::string_view) const override { return std::nullopt; }
  [[nodiscard]] Result<std::string, PushRefusal> run_now(std::string_view, Time) override {
    return PushRefusal{.text = "there is no such entry"};
  }
  Answer<Done> pause(std::string_view, Time) override { return Refusal::kNotFound; }
  Answer<Done> resume(std::string_view, Time) override { return Refusal::kNotFound; }
};

std::uint64_t list_page() {
  World world;
  NoCron cron;
  repeat(world, &World::push, kMany);
  BulkChanges bulks{world.broker};
  const http::Trend trend;
  const http::Series series;
  const http::FailureSeries failures;
  const http::StuckWorkers stuck;
  const http::Fleet fleet;
  http::Alerts alerts;
  http::Site site{.broker = world.broker,
                  .format = world.format,
                  .bulks = bulks,
                  .cron = cron,
                  .trend = trend,
                  .series = series,
                  .failures = failures,
                  .stuck = stuck,
                  .fleet = fleet,
                  .alerts = alerts};
  const http::Request request{.caller = access::Caller::everybody(),
                              .path = "/api/v1/jobs",
                              .params = {{"state", "ready"}, {"queue", "default"}}};
  http::Response response;
  {
    const Counted counted;
    const Counting counting;
    for (std::uint64_t i = 0; i < kPages; ++i) {
      response = http::answer(site, request, {.now = world.now, .system = {}});
    }
  }
  CHECK(response.status == 200 && !response.go_on && !response.write_body);
  CHECK(response.body.find("job-50-abcdef") != std::string::npos);
  return kPages;
}

struct Operation {
  std::string_view name;
  std::uint64_t (*run)();  ///< answers how often it was done
};

constexpr Operation kOperations[] = {
    {"put", put<0>},
    {"put with 100,000 other jobs", put<kMany>},
    {"put, reserve, delete", put_reserve_delete<0>},
    {"put, reserve, delete with 100,000 other jobs", put_reserve_delete<kMany>},
    {"put with a delay, coming due", put_delayed},
    {"kick of a buried job", kick},
    {"PUSH", push<0>},
    {"PUSH with 100,000 other jobs", push<kMany>},
    {"put, reserve, delete of one of 100 users", act_as_user<&World::put_reserve_delete, 0>},
    {"PUSH, FETCH, ACK of one of 100 users", act_as_user<&World::push_fetch_ack, 0>},
    {"PUSH that its socket's thread has read", push_ahead},
    {"PUSH that its socket's thread has read, FETCH, ACK", push_ahead_fetch_ack},
    {"PUSH, FETCH, ACK", push_fetch_ack<0>},
    {"PUSH, FETCH, ACK with 100,000 other jobs", push_fetch_ack<kMany>},
    {"FETCH", fetch<0>},
    {"FETCH with 100 full queues before", fetch<100>},
    {"PUSH with a custom of the client's own", push_with_custom},
    {"PUSH of a unique job", push_unique},
    {"PUSH, FETCH, ACK of a member of a batch", push_fetch_ack_member},
    {"PUSH, FETCH, ACK of a tracked job", push_fetch_ack_tracked},
    {"PUSH, FETCH, ACK, kept when finished", push_fetch_ack_kept},
    {"TRACK SET, TRACK GET", track},
    {"PUSHB of ten, each", push_ten},
    {"PUSH, FETCH, FAIL", push_fetch_fail},
    {"MUTATE of a scheduled job", mutate},
    {"replay of a put", replay_put},
    {"replay of PUSH, FETCH, ACK", replay_push_fetch_ack},
    {"a web list of 50 of 100,000 jobs", list_page},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Operation& operation : kOperations) {
    if (argc == 1) std::cout << operation.name << "\n";
    if (argc == 2 && operation.name == argv[1]) {
      std::cout << operation.run() << "\n";
      return 0;
    }
  }
  return argc == 1 ? 0 : 2;
}
