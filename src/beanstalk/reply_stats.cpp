#include <cstdio>

#include "base/check.hpp"
#include "beanstalk/reply.hpp"
#include "beanstalk/yaml.hpp"

namespace millrace::beanstalk::reply {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

/// We do not say which file holds a job.
constexpr std::uint64_t kNoFile = 0;

/// A pause that FWP began lasts until it is ended. It is shown as the longest that beanstalkd has:
/// 2^32 - 1 s.
constexpr std::uint64_t kEndlessPauseS = 4294967295;

/// Whole seconds from one time to the other; 0 if `to` is not later.
std::uint64_t seconds_between(Time from, Time to) {
  if (to <= from) return 0;
  return static_cast<std::uint64_t>(floor<seconds>(to - from).count());
}

/// <seconds>.<microseconds>
std::string processor_time(std::chrono::microseconds time) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%06d", static_cast<long long>(time.count() / 1'000'000),
                static_cast<int>(time.count() % 1'000'000));
  return text;
}

std::string_view state_word(JobState state) {
  switch (state) {
    case JobState::kReady:
      return "ready";
    case JobState::kReserved:
      return "reserved";
    case JobState::kScheduled:
    case JobState::kRetrying:
      return "delayed";
    case JobState::kDead:
      return "buried";
  }
  CHECK(false);
}

/// The deadline of a reserved job, or the end of a delay.
bool has_time_left(JobState state) {
  return state != JobState::kReady && state != JobState::kDead;
}

void add_job_counts(Yaml& yaml, const View& view) {
  yaml.number("current-jobs-urgent", view.orders().urgent_count())
      .number("current-jobs-ready", view.orders().count(JobState::kReady))
      .number("current-jobs-reserved", view.orders().count(JobState::kReserved))
      .number("current-jobs-delayed",
              // To beanstalk clients a retry is a delay like any other.
              view.orders().count(JobState::kScheduled) + view.orders().count(JobState::kRetrying))
      .number("current-jobs-buried", view.orders().count(JobState::kDead));
}

/// The counted commands, in the order in which they are shown.
constexpr struct {
  std::string_view key;
  std::size_t command;
} kCommandRows[] = {
    {"cmd-put", command_index<Put>()},
    {"cmd-peek", command_index<Peek>()},
    {"cmd-peek-ready", command_index<PeekReady>()},
    {"cmd-peek-delayed", command_index<PeekDelayed>()},
    {"cmd-peek-buried", command_index<PeekBuried>()},
    {"cmd-reserve", command_index<Reserve>()},
    {"cmd-reserve-with-timeout", command_index<ReserveWithTimeout>()},
    {"cmd-delete", command_index<Delete>()},
    {"cmd-release", command_index<Release>()},
    {"cmd-use", command_index<Use>()},
    {"cmd-watch", command_index<Watch>()},
    {"cmd-ignore", command_index<Ignore>()},
    {"cmd-bury", command_index<Bury>()},
    {"cmd-kick", command_index<Kick>()},
    {"cmd-touch", command_index<Touch>()},
    {"cmd-stats", command_index<Stats>()},
    {"cmd-stats-job", command_index<StatsJob>()},
    {"cmd-stats-tube", command_index<StatsTube>()},
    {"cmd-list-tubes", command_index<ListTubes>()},
    {"cmd-list-tube-used", command_index<ListTubeUsed>()},
    {"cmd-list-tubes-watched", command_index<ListTubesWatched>()},
    {"cmd-pause-tube", command_index<PauseTube>()},
};

void add_server(Yaml& yaml, const Shared& shared, const View& view) {
  const Counters& counters = shared.counters;
  yaml.number("job-timeouts", view.tally().reservations_timed_out)
      .number("total-jobs", view.tally().jobs_put)
      .number("max-job-size", shared.settings.job_bytes_max)
      .number("current-tubes", view.queues().by_creation().size())
      .number("current-connections", counters.connections)
      .number("current-producers", counters.producers)
      .number("current-workers", counters.workers)
      .number("current-waiting", view.tally().waiting)
      .number("total-connections", counters.total_connections);
}

void add_binlog(Yaml& yaml, const Settings& settings, const Ledger& ledger) {
  const Binlog binlog = settings.binlog ? settings.binlog() : Binlog{};
  yaml.number("binlog-oldest-index", binlog.oldest)
      .number("binlog-current-index", binlog.current)
      // All zero without a journal, like beanstalkd without -b.
      .number("binlog-records-migrated",
              settings.binlog ? ledger.store().jobs().rewritten_count() : 0)
      .number("binlog-records-written", settings.binlog ? ledger.records_written() : 0)
      .number("binlog-max-size", settings.binlog_bytes_max);
}

void add_process(Yaml& yaml, const Shared& shared, Time now) {
  const Settings& settings = shared.settings;
  // Asked of the server: a protocol reads no clock and no process.
  ProcessUsage usage = settings.usage ? settings.usage() : ProcessUsage{};
  yaml.plain("pid", std::to_string(settings.pid))
      .quoted("version", settings.version)
      .plain("rusage-utime", processor_time(usage.user))
      .plain("rusage-stime", processor_time(usage.system))
      .number("uptime", seconds_between(shared.started_at, now));
  add_binlog(yaml, settings, shared.broker.ledger());
  yaml.flag("draining", shared.is_draining)
      .plain("id", settings.instance_id)
      .quoted("hostname", settings.hostname)
      .quoted("os", settings.os)
      .quoted("platform", settings.platform);
}

}  // namespace

void stats(std::string& out, const Shared& shared, const View& view, Time now) {
  Yaml yaml;
  add_job_counts(yaml, view);
  for (const auto& row : kCommandRows) yaml.number(row.key, shared.counters.commands[row.command]);
  add_server(yaml, shared, view);
  add_process(yaml, shared, now);
  yaml.append_to(out);
}

void stats_job(std::string& out, const ShownJob& shown, Time now) {
  const Job& job = shown.job;
  Tallies tallies = job.tallies();
  Yaml{}
      .number("id", job.id)
      .quoted("tube", shown.tube)
      .plain("state", state_word(job.state))
      .number("pri", job.pri)
      .number("age", seconds_between(job.created_at, now))
      // As the client gave it. `time-left` counts down.
      .number("delay", job.delay_s)
      .number("ttr", job.ttr_s)
      .number("time-left",
              has_time_left(job.state) ? seconds_between(now, job.steady_when(shown.clock)) : 0)
      .number("file", kNoFile)
      .number("reserves", tallies.reserves)
      .number("timeouts", tallies.timeouts)
      .number("releases", tallies.releases)
      .number("buries", tallies.buries)
      .number("kicks", tallies.kicks)
      .append_to(out);
}

void stats_tube(std::string& out, const Queue& tube, Time now) {
  const bool is_endless = tube.paused_until == kNever;
  Yaml{}
      .quoted("name", tube.name)
      .number("current-jobs-urgent", tube.urgent_count)
      .number("current-jobs-ready", tube.ready.size())
      .number("current-jobs-reserved", tube.reserved_count)
      .number("current-jobs-delayed", tube.delayed.size())
      .number("current-jobs-buried", tube.dead.size())
      .number("total-jobs", tube.total_jobs)
      .number("current-using", tube.user_count)
      .number("current-watching", tube.watcher_count)
      .number("current-waiting", tube.waiting.size())
      .number("cmd-delete", tube.delete_count)
      .number("cmd-pause-tube", tube.pause_count)
      .number("pause", is_endless            ? kEndlessPauseS
                       : tube.is_paused(now) ? tube.pause_s
                                             : 0)
      .number("pause-time-left",
              is_endless ? kEndlessPauseS : seconds_between(now, tube.paused_until))
      .append_to(out);
}

void tube_list(std::string& out, const std::vector<std::string_view>& tubes) {
  Yaml yaml;
  for (std::string_view tube : tubes) yaml.item(tube);
  yaml.append_to(out);
}

}  // namespace millrace::beanstalk::reply
