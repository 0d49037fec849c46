#include "beanstalk/reply.hpp"

#include <cstring>
#include <string>

#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::beanstalk {
namespace {

constexpr Time kNow{1'000'000s};

Job make_job(std::string_view body) {
  Job job;
  job.id = 7;
  job.body = std::make_unique<char[]>(body.size());
  std::memcpy(job.body.get(), body.data(), body.size());
  job.body_bytes = static_cast<std::uint32_t>(body.size());
  return job;
}

class Shout final : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job&) const override { return {}; }
  void render(const Job&, std::string_view queue, WallClock, std::string& out) const override {
    out += "unit in ";
    out += queue;
  }
};

/// The body of an OK reply, whose size is checked.
std::string body_of(const std::string& reply) {
  auto line_end = reply.find("\r\n");
  REQUIRE(line_end != std::string::npos);
  std::string body = reply.substr(line_end + 2, reply.size() - line_end - 4);
  CHECK(reply == "OK " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
  return body;
}

constexpr std::uint64_t kFirstCount = 100;

Counters distinct_counters() {
  Counters counters;
  std::uint64_t next = kFirstCount;
  for (auto& count : counters.commands) count = next++;
  counters.connections = 201;
  counters.producers = 202;
  counters.workers = 203;
  counters.total_connections = 204;
  return counters;
}

/// The line of `stats` that counts a kind of command, as `distinct_counters` counted it.
template <typename Command>
std::string counted(std::string_view key) {
  return std::string(key) + ": " + std::to_string(kFirstCount + command_index<Command>()) + "\n";
}

}  // namespace

TEST_CASE("reply: RESERVED and FOUND with the job's bytes") {
  Job job = make_job("a\r\nb");
  std::string out;
  reply::reserved(out, {job, "default", Shout{}, {}});
  reply::found(out, {job, "default", Shout{}, {}});
  CHECK(out == "RESERVED 7 4\r\na\r\nb\r\nFOUND 7 4\r\na\r\nb\r\n");
}

TEST_CASE("reply: a pushed work unit is shown as FETCH returns it") {
  Job job = make_job("stored form");
  job.kind = JobKind::kWorkUnit;
  std::string out;
  reply::reserved(out, {job, "mail", Shout{}, {}});
  CHECK(out == "RESERVED 7 12\r\nunit in mail\r\n");
}

TEST_CASE("reply: lines with a number") {
  std::string out;
  reply::inserted(out, 18446744073709551615u);
  reply::kicked(out, 0);
  reply::watching(out, 3);
  reply::using_tube(out, "mail");
  CHECK(out == "INSERTED 18446744073709551615\r\nKICKED 0\r\nWATCHING 3\r\nUSING mail\r\n");
}

TEST_CASE("reply: a list of tubes") {
  std::string out;
  reply::tube_list(out, {"default", "123"});
  CHECK(out == "OK 20\r\n---\n- default\n- 123\n\r\n");
}

TEST_CASE("reply: stats-job") {
  Job job = make_job("x");
  job.state = JobState::kReserved;
  job.pri = 1;
  job.delay_s = 2;
  job.ttr_s = 3;
  job.created_at = kNow - 4500ms;
  job.when = kNow + 5999ms;
  job.edit_history().tallies = {
      .reserves = 10, .timeouts = 11, .releases = 12, .buries = 13, .kicks = 14};
  std::string out;
  reply::stats_job(out, {job, "mail", Shout{}, {}}, kNow);
  CHECK(body_of(out) ==
        "---\nid: 7\ntube: \"mail\"\nstate: reserved\npri: 1\nage: 4\ndelay: 2\nttr: 3\n"
        "time-left: 5\nfile: 0\nreserves: 10\ntimeouts: 11\nreleases: 12\nburies: 13\n"
        "kicks: 14\n");
}

TEST_CASE("reply: stats-job words for the states") {
  Job job = make_job("x");
  auto state_line = [&job](JobState state) {
    job.state = state;
    std::string out;
    reply::stats_job(out, {job, "mail", Shout{}, {}}, kNow);
    auto begin = out.find("state: ");
    return out.substr(begin, out.find('\n', begin) - begin);
  };
  CHECK(state_line(JobState::kReady) == "state: ready");
  CHECK(state_line(JobState::kReserved) == "state: reserved");
  CHECK(state_line(JobState::kScheduled) == "state: delayed");
  CHECK(state_line(JobState::kRetrying) == "state: delayed");
  CHECK(state_line(JobState::kDead) == "state: buried");
}

TEST_CASE("reply: a job that is overdue has no time left") {
  Job job = make_job("x");
  job.state = JobState::kReserved;
  job.when = kNow - 5s;
  std::string out;
  reply::stats_job(out, {job, "mail", Shout{}, {}}, kNow);
  CHECK(out.find("\ntime-left: 0\n") != std::string::npos);
}

TEST_CASE("reply: stats-tube") {
  Queue tube;
  tube.name = "mail";
  tube.ready.insert({.pri = 0, .slot = 1, .sequence = 1});
  tube.urgent_count = 1;
  tube.reserved_count = 2;
  tube.delayed.steady.insert({.when = kNow, .id = 2, .slot = 2});
  tube.dead.insert({.when = kNow, .id = 3, .slot = 3});
  tube.total_jobs = 6;
  tube.user_count = 7;
  tube.watcher_count = 8;
  tube.waiting = {{1, 1}, {2, 2}};
  tube.delete_count = 9;
  tube.pause_count = 10;
  tube.paused_until = kNow + 11500ms;
  tube.pause_s = 12;
  std::string out;
  reply::stats_tube(out, tube, kNow);
  CHECK(body_of(out) ==
        "---\nname: \"mail\"\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 1\n"
        "current-jobs-reserved: 2\ncurrent-jobs-delayed: 1\ncurrent-jobs-buried: 1\n"
        "total-jobs: 6\ncurrent-using: 7\ncurrent-watching: 8\ncurrent-waiting: 2\n"
        "cmd-delete: 9\ncmd-pause-tube: 10\npause: 12\npause-time-left: 11\n");
}

TEST_CASE("reply: stats shows every counter under its own key") {
  Shout format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  Settings settings{.job_bytes_max = 300,
                    .version = "1.13",
                    .instance_id = "00112233aabbccdd",
                    .hostname = "host",
                    .os = "#1 SMP",
                    .platform = "x86_64",
                    .pid = 4321,
                    .usage =
                        [] {
                          return ProcessUsage{1'000'002us, 3us};
                        },
                    .binlog = [] { return Binlog{.oldest = 401, .current = 402}; }};
  Shared shared{broker, format, settings, kNow - 90s, true, distinct_counters()};
  std::string out;
  reply::stats(out, shared, broker.view(), kNow);
  const std::string commands =
      counted<Put>("cmd-put") + counted<Peek>("cmd-peek") + counted<PeekReady>("cmd-peek-ready") +
      counted<PeekDelayed>("cmd-peek-delayed") + counted<PeekBuried>("cmd-peek-buried") +
      counted<Reserve>("cmd-reserve") + counted<ReserveWithTimeout>("cmd-reserve-with-timeout") +
      counted<Delete>("cmd-delete") + counted<Release>("cmd-release") + counted<Use>("cmd-use") +
      counted<Watch>("cmd-watch") + counted<Ignore>("cmd-ignore") + counted<Bury>("cmd-bury") +
      counted<Kick>("cmd-kick") + counted<Touch>("cmd-touch") + counted<Stats>("cmd-stats") +
      counted<StatsJob>("cmd-stats-job") + counted<StatsTube>("cmd-stats-tube") +
      counted<ListTubes>("cmd-list-tubes") + counted<ListTubeUsed>("cmd-list-tube-used") +
      counted<ListTubesWatched>("cmd-list-tubes-watched") + counted<PauseTube>("cmd-pause-tube");
  CHECK(body_of(out) ==
        "---\ncurrent-jobs-urgent: 0\ncurrent-jobs-ready: 0\ncurrent-jobs-reserved: 0\n"
        "current-jobs-delayed: 0\ncurrent-jobs-buried: 0\n" +
            commands +
            "job-timeouts: 0\ntotal-jobs: 0\nmax-job-size: 300\ncurrent-tubes: 1\n"
            "current-connections: 201\ncurrent-producers: 202\ncurrent-workers: 203\n"
            "current-waiting: 0\ntotal-connections: 204\npid: 4321\nversion: \"1.13\"\n"
            "rusage-utime: 1.000002\nrusage-stime: 0.000003\nuptime: 90\n"
            "binlog-oldest-index: 401\nbinlog-current-index: 402\nbinlog-records-migrated: 0\n"
            "binlog-records-written: 0\nbinlog-max-size: 10485760\ndraining: true\n"
            "id: 00112233aabbccdd\nhostname: \"host\"\nos: \"#1 SMP\"\nplatform: \"x86_64\"\n");
}

}  // namespace millrace::beanstalk
