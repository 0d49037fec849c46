#include "server/cron/cron_runner.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "faktory/service.hpp"
#include "server/options/tables/cron_config.hpp"
#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// The clock begins at 2023-11-14 22:13:20 UTC.
constexpr Time kBegin{1'700'000'000s};
constexpr Time kFullMinute = kBegin + 40s;

std::string cron_entry(const std::string& members, const std::string& job = "type = \"Tick\"") {
  return "[[cron]]\n" + members + "\n[cron.job]\n" + job + "\n";
}

const std::string kMinutely = "name = \"e\"\nschedule = \"* * * * *\"";
const std::string kHourly = "name = \"e\"\nschedule = \"0 * * * *\"";

SharedCronTable table_of(const std::string& config) {
  auto table = read_cron({&ConfigDocument::parse("a.toml", config).value(), 1});
  REQUIRE_MESSAGE(table, table.error().text);
  return std::make_shared<const CronTable>(std::move(*table));
}

/// What is left of a server that only runs cron entries. A second one over the same log is the
/// server after a crash.
struct CronLoop {
  TestLoop loop;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  faktory::Service service{loop.broker, loop.format, {}, loop.clock.now()};
  /// No two processes draw the same numbers.
  std::uint64_t drawn = processes()++ << 32;
  CronRunner runner{{.ticker = loop.ticker,
                     .broker = loop.broker,
                     .log = log,
                     .push =
                         [this](std::string_view json, Time now, Time planned) {
                           return service.push(json, now, access::Caller::everybody(), planned);
                         },
                     .random = [this] { return ++drawn; }}};

  explicit CronLoop(const std::string& config) { set(config); }

  static std::uint64_t& processes() {
    static std::uint64_t count = 0;
    return count;
  }

  void set(const std::string& config) { runner.set(table_of(config)); }

  void begin() {
    runner.begin();
    work();
  }
  void work() {
    loop.ticker.work(loop.clock.now());
    while (loop.ticker.next() <= loop.clock.now() + 1ns) {
      loop.clock.set(loop.clock.now() + 1ns);
      loop.ticker.work(loop.clock.now());
    }
  }
  /// The clock shows that time, and nothing happened in between.
  void wake_at(Time time) {
    loop.clock.set(time);
    work();
  }
  /// Lets time pass, and all happen at its time.
  void pass(Duration time) {
    const Time end = loop.clock.now() + time;
    while (loop.ticker.next() < end) wake_at(std::max(loop.ticker.next(), loop.clock.now()));
    wake_at(end);
  }
  /// Another process ends at this moment, and this one reads its log.
  void go_on_from(CronLoop& crashed, Time at) {
    REQUIRE(loop.ledger.replay(crashed.loop.ledger.take_batch(), 0));
    loop.clock.set(at);
    begin();
  }

  [[nodiscard]] std::uint64_t jobs() const {
    return loop.broker.view().orders().count(JobState::kReady);
  }
  [[nodiscard]] CronBoard::Entry shown() const {
    const auto found = runner.find("e");
    REQUIRE(found);
    return *found;
  }
  [[nodiscard]] bool has_logged(std::string_view text) const {
    return logged.find(text) != std::string::npos;
  }
};

/// An entry that ran at the full hour, in a process that then crashed; and the next process.
struct Down {
  static constexpr Time kHour{1'700'002'800s};

  CronLoop before;
  CronLoop after;

  explicit Down(const std::string& config) : before(config), after(config) {
    before.begin();
    before.pass(kHour - kBegin);
    REQUIRE(before.jobs() == 1);
  }
};

/// The planned time of each run that is in the history, and how late it was.
void check_runs(const CronLoop& cron, std::size_t count, Time first, Duration gap, Duration late) {
  const auto runs = cron.shown().runs;
  REQUIRE(runs.size() >= count);
  for (std::size_t i = 0; i < count; ++i) {
    const CronRun& run = runs[runs.size() - count + i];
    CHECK(run.planned == first + i * gap);
    CHECK(run.at - run.planned <= late);
  }
}

/// An entry whose run at the full minute is held back by its jitter.
struct Held {
  static constexpr Duration kDelayMin = 2s;
  static constexpr Time kNow = kFullMinute + 1s;

  std::string jitter = "\njitter = 50";
  CronLoop cron;
  Time due;

  explicit Held(const std::string& head = kMinutely) : cron(cron_entry(head + jitter)) {
    cron.begin();
    due = cron.loop.ticker.next();
    REQUIRE(due >= kFullMinute + kDelayMin);
    cron.wake_at(kNow);
    REQUIRE(cron.jobs() == 0);
  }

  void change(const std::string& head, const std::string& job = "type = \"Other\"") {
    cron.set(cron_entry(head, job));
    cron.work();
  }
};

}  // namespace

TEST_CASE("cron runs: a job is pushed at the full minute, and not before") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.wake_at(kFullMinute - 1us);
  CHECK(cron.jobs() == 0);
  cron.wake_at(kFullMinute);
  CHECK(cron.jobs() == 1);
  cron.pass(59s);
  CHECK(cron.jobs() == 1);
  cron.pass(1s);
  CHECK(cron.jobs() == 2);
}

TEST_CASE("cron runs: with jitter a run is up to so much later, and each by another time") {
  CronLoop cron(cron_entry(kMinutely + "\njitter = 30"));
  cron.begin();
  std::set<Duration> delays;
  for (int i = 0; i < 20; ++i) {
    const Duration delay = cron.loop.ticker.next() - (kFullMinute + i * 60s);
    CHECK(delay >= 0s);
    CHECK(delay <= 30s);
    delays.insert(delay);
    cron.wake_at(cron.loop.ticker.next());
    CHECK(cron.jobs() == static_cast<std::uint64_t>(i) + 1);
  }
  CHECK(delays.size() > 15);
}

TEST_CASE("cron runs: a restart changes nothing in a jitter, and does no run twice") {
  const std::string config = cron_entry(kMinutely + "\njitter = 30\ncatch_up = \"none\"");
  CronLoop before(config);
  before.begin();
  const Time due = before.loop.ticker.next();
  REQUIRE(due > kFullMinute);
  CronLoop after(config);
  after.go_on_from(before, due - 1ms);
  CHECK(after.jobs() == 0);
  CHECK(after.loop.ticker.next() == due);
  after.wake_at(due);
  CHECK(after.jobs() == 1);
  CHECK_FALSE(after.has_logged("cron_missed"));
  after.pass(30s);
  CHECK(after.jobs() == 1);
}

TEST_CASE("cron runs: with a jitter longer than the interval each run is done once, in order") {
  CronLoop cron(cron_entry("name = \"e\"\nschedule = \"@every 1s\"\njitter = 20"));
  cron.begin();
  cron.pass(40s + 999ms);
  CHECK(cron.jobs() == 40);
  CHECK_FALSE(cron.has_logged("cron_missed"));
  check_runs(cron, 10, kBegin + 31s, 1s, 900ms);
}

TEST_CASE("cron runs: a loop that wakes late misses none of the runs that jitter puts off") {
  CronLoop cron(cron_entry("name = \"e\"\nschedule = \"@every 1s\"\njitter = 20"));
  cron.begin();
  for (int i = 1; i <= 1000; ++i) cron.wake_at(kBegin + i * 99ms);
  CHECK(cron.jobs() >= 97);
  CHECK_FALSE(cron.has_logged("cron_missed"));
}

TEST_CASE("cron runs: of runs at uneven intervals each is late by its own jitter at most") {
  CronLoop cron(cron_entry("name = \"e\"\nschedule = \"0,1,30 * * * *\"\njitter = 3600"));
  cron.begin();
  cron.pass(Down::kHour - kBegin + 10h);
  const auto runs = cron.shown().runs;
  REQUIRE(runs.size() == 10);
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    CHECK(runs[i].at >= runs[i].planned);
    CHECK(runs[i].at < runs[i + 1].planned);
  }
  CHECK(cron.jobs() >= 30);
  CHECK(cron.jobs() <= 31);
  CHECK_FALSE(cron.has_logged("cron_missed"));
}

TEST_CASE("cron runs: after a restart, jitter holds back the newest run, and one is caught up") {
  const std::string config = cron_entry(kMinutely + "\njitter = 60");
  CronLoop before(config);
  before.begin();
  const std::string batch = before.loop.ledger.take_batch();
  before.pass(5min);
  const CronRun fifth = before.shown().runs.at(4);
  REQUIRE(fifth.at > fifth.planned + 1ms);
  CronLoop after(config);
  REQUIRE(after.loop.ledger.replay(batch, 0));
  after.loop.clock.set(fifth.at - 1ms);
  after.begin();
  CHECK(after.jobs() == 1);
  CHECK(after.shown().runs.at(0).planned == fifth.planned - 1min);
  after.wake_at(fifth.at);
  CHECK(after.jobs() == 2);
  CHECK(after.shown().runs.at(1).planned == fifth.planned);
}

TEST_CASE("cron runs: the next run is when the loop wakes") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  CHECK(cron.loop.ticker.next() == kFullMinute);
}

TEST_CASE("cron runs: */5 fires at :00 and :05") {
  CronLoop cron(cron_entry("name = \"e\"\nschedule = \"*/5 * * * *\""));
  cron.begin();
  cron.pass(10min);
  const auto runs = cron.shown().runs;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].planned == kFullMinute + 1min);
  CHECK(runs[1].planned == kFullMinute + 6min);
}

TEST_CASE("cron runs: each job has a jid of its own, of 16 characters of base64url") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.pass(2min);
  const auto runs = cron.shown().runs;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].jid != runs[1].jid);
  CHECK(runs[0].jid.size() == 16);
  CHECK(runs[0].jid.find_first_of("+/=") == std::string::npos);
  CHECK(cron.has_logged("cron_enqueued entry=e job=Tick/" + runs[0].jid));
}

TEST_CASE("cron runs: the job is the one of the config file") {
  CronLoop cron(cron_entry(kMinutely,
                           "type = \"Mail\"\nqueue = \"q\"\nargs = [9007199254740993]\nretry = 3\n"
                           "[cron.job.custom]\nx = 1"));
  cron.begin();
  cron.pass(1min);
  const CronRun run = cron.shown().runs.at(0);
  const Job* const job = cron.loop.broker.view().jobs().find(run.job);
  REQUIRE(job != nullptr);
  std::string text;
  cron.loop.format.render(*job, "q", {}, text);
  CHECK(text.find("\"jid\":\"" + run.jid + "\"") != std::string::npos);
  CHECK(text.find(R"("args":[9007199254740993])") != std::string::npos);
  CHECK(text.find(R"("retry":3)") != std::string::npos);
  CHECK(text.find(R"("custom":{"x":1})") != std::string::npos);
  CHECK(text.find(R"("created_at":"2023-11-14T22:14:00Z")") != std::string::npos);
}

TEST_CASE("cron runs: expires_in counts from the planned time, a lock from the push") {
  Down down(
      cron_entry(kHourly, "type = \"A\"\n[cron.job.custom]\nexpires_in = 7200\nunique_for = 600"));
  const CronRun first = down.before.shown().runs.at(0);
  const auto& features = down.before.loop.broker.view().jobs().find(first.job)->features;
  CHECK(features->expires_at == Down::kHour + 2h);
  CHECK(features->lock_ends == Down::kHour + 10min);
  down.after.go_on_from(down.before, Down::kHour + 1h + 30min);
  const CronRun second = down.after.shown().runs.at(1);
  REQUIRE(second.job != 0);
  const auto& late = down.after.loop.broker.view().jobs().find(second.job)->features;
  CHECK(late->expires_at == Down::kHour + 3h);
  CHECK(late->lock_ends == Down::kHour + 1h + 40min);
}

TEST_CASE("cron runs: a run whose lock is held is refused, and in the history") {
  CronLoop cron(cron_entry(kMinutely, "type = \"A\"\n[cron.job.custom]\nunique_for = 6000"));
  cron.begin();
  cron.pass(2min);
  CHECK(cron.jobs() == 1);
  CHECK(cron.shown().runs.at(1).problem == "NOTUNIQUE Job not unique");
}

TEST_CASE("cron runs: nothing runs before the server serves, nor after it stops") {
  CronLoop cron(cron_entry(kMinutely));
  cron.wake_at(kFullMinute);
  CHECK(cron.jobs() == 0);
  cron.begin();
  cron.runner.stop();
  cron.pass(1h);
  CHECK(cron.jobs() == 0);
  CHECK_FALSE(cron.loop.ticker.next() < kNever);
}

TEST_CASE("cron runs: after a crash in the very second, with the frame: no second job") {
  Down down(cron_entry(kHourly));
  down.after.go_on_from(down.before, Down::kHour);
  CHECK(down.after.jobs() == 1);
  down.after.pass(59min);
  CHECK(down.after.jobs() == 1);
}

TEST_CASE("cron runs: after a crash in the very second, before the frame: one job") {
  CronLoop before(cron_entry(kHourly));
  before.begin();
  const std::string batch = before.loop.ledger.take_batch();
  before.pass(Down::kHour - kBegin);
  REQUIRE(before.jobs() == 1);
  CronLoop after(cron_entry(kHourly));
  REQUIRE(after.loop.ledger.replay(batch, 0));
  after.loop.clock.set(Down::kHour);
  after.begin();
  CHECK(after.jobs() == 1);
}

TEST_CASE("cron runs: down for 59 minutes, a daily run is caught up; after 61 it is not") {
  const std::string daily = cron_entry("name = \"e\"\nschedule = \"0 0 * * *\"");
  constexpr Time kMidnight{1'700'006'400s};
  CronLoop before(daily);
  before.begin();
  const std::string batch = before.loop.ledger.take_batch();
  CronLoop early(daily);
  REQUIRE(early.loop.ledger.replay(batch, 0));
  early.loop.clock.set(kMidnight + 59min);
  early.begin();
  CHECK(early.jobs() == 1);
  CHECK(early.shown().runs.at(0).planned == kMidnight);
  CronLoop late(daily);
  REQUIRE(late.loop.ledger.replay(batch, 0));
  late.loop.clock.set(kMidnight + 61min);
  late.begin();
  CHECK(late.jobs() == 0);
  CHECK(late.has_logged("cron_missed entry=e seconds=3660.0 catch_up=one"));
  CHECK(late.shown().next.at(0) == kMidnight + 24h);
}

TEST_CASE("cron runs: of many missed runs the newest is done, exactly an hour late at most") {
  Down down(cron_entry(kHourly));
  down.after.go_on_from(down.before, Down::kHour + 5h);
  CHECK(down.after.jobs() == 2);
  CHECK(down.after.shown().runs.back().planned == Down::kHour + 5h);
  Down other(
      cron_entry("name = \"e\"\nschedule = \"0 */23 * * *\"\n"
                 "timezone = \"UTC\""));
  other.after.go_on_from(other.before, Down::kHour + 2h);
  // 23:00 and 00:00: the second one is an hour late.
  CHECK(other.after.jobs() == 2);
}

TEST_CASE("cron runs: catch_up none") {
  Down down(cron_entry(kHourly + "\ncatch_up = \"none\""));
  down.after.go_on_from(down.before, Down::kHour + 1h + kCronLateMax + 1ms);
  CHECK(down.after.jobs() == 1);
  down.after.pass(1h);
  CHECK(down.after.jobs() == 2);
}

TEST_CASE("cron runs: catch_up none does a run that is a little late") {
  Down down(cron_entry(kHourly + "\ncatch_up = \"none\""));
  down.after.go_on_from(down.before, Down::kHour + 1h + kCronLateMax);
  CHECK(down.after.jobs() == 2);
}

TEST_CASE("cron runs: catch_up all does all, in their order") {
  Down down(cron_entry(kHourly + "\ncatch_up = \"all\""));
  down.after.go_on_from(down.before, Down::kHour + 5h + 1min);
  CHECK(down.after.jobs() == 6);
  const auto runs = down.after.shown().runs;
  for (std::size_t i = 0; i < runs.size(); ++i) CHECK(runs[i].planned == Down::kHour + i * 1h);
}

TEST_CASE("cron runs: catch_up all tells of missed runs once, and not of one that is late") {
  Down down(cron_entry(kHourly + "\ncatch_up = \"all\""));
  down.after.go_on_from(down.before, Down::kHour + 1h + 1min);
  CHECK_FALSE(down.after.has_logged("cron_missed"));
  Down longer(cron_entry(kHourly + "\ncatch_up = \"all\""));
  longer.after.go_on_from(longer.before, Down::kHour + 5h + 1min);
  const std::string line = "cron_missed entry=e seconds=14460.0 catch_up=all";
  const std::size_t first = longer.after.logged.find(line);
  REQUIRE(first != std::string::npos);
  CHECK(longer.after.logged.find("cron_missed", first + 1) == std::string::npos);
}

TEST_CASE("cron runs: catch_up all does the newest thousand, in slices") {
  Down down(cron_entry(kHourly + "\ncatch_up = \"all\""));
  REQUIRE(down.after.loop.ledger.replay(down.before.loop.ledger.take_batch(), 0));
  down.after.loop.clock.set(Down::kHour + 2000h + 1min);
  down.after.runner.begin();
  down.after.loop.ticker.work(down.after.loop.clock.now());
  CHECK(down.after.jobs() == 1 + kSliceRuns);
  down.after.work();
  CHECK(down.after.jobs() == 1 + kCatchUpMax);
  CHECK(down.after.shown().next.at(0) == Down::kHour + 2001h);
}

TEST_CASE("cron runs: a clock that is set forward is a time without a server") {
  CronLoop cron(cron_entry(kHourly));
  cron.begin();
  cron.loop.broker.set_wall_clock({.ahead = 5h});
  cron.runner.look_again();
  cron.work();
  CHECK(cron.jobs() == 1);
  CHECK(cron.shown().runs.at(0).planned == Down::kHour + 4h);
}

TEST_CASE("cron runs: after a clock was set back, no run is done again") {
  Down down(cron_entry(kHourly));
  down.before.loop.broker.set_wall_clock({.ahead = -2h});
  down.before.runner.look_again();
  down.before.pass(2h);
  CHECK(down.before.jobs() == 1);
  down.before.pass(1h);
  CHECK(down.before.jobs() == 2);
}

TEST_CASE("cron runs: a clock that was wrong by more than a day stops no entry") {
  CronLoop cron(cron_entry(kHourly));
  cron.begin();
  cron.loop.broker.set_wall_clock({.ahead = 10'000h});
  cron.runner.look_again();
  cron.work();
  REQUIRE(cron.jobs() == 1);
  cron.loop.broker.set_wall_clock({});
  cron.runner.look_again();
  cron.pass(1h);
  CHECK(cron.jobs() == 2);
}

TEST_CASE("cron runs: new entries at a full minute, old ones once") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.wake_at(kFullMinute);
  cron.set(cron_entry(kMinutely) + cron_entry("name = \"f\"\nschedule = \"* * * * *\""));
  cron.work();
  CHECK(cron.jobs() == 1);
  cron.pass(1min);
  CHECK(cron.jobs() == 3);
}

TEST_CASE("cron runs: what was due when the entries are read again is done, once") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.loop.clock.set(kFullMinute);
  cron.set(cron_entry(kMinutely));
  cron.work();
  CHECK(cron.jobs() == 1);
}

TEST_CASE("cron runs: a changed entry catches nothing up") {
  Down down(cron_entry(kHourly));
  down.after.set(cron_entry(kHourly, "type = \"Other\""));
  down.after.go_on_from(down.before, Down::kHour + 90min);
  CHECK(down.after.jobs() == 1);
  down.after.pass(30min);
  CHECK(down.after.jobs() == 2);
}

TEST_CASE("cron runs: a changed entry does the run that jitter held back, as it says now") {
  Held held;
  held.change(kMinutely + held.jitter);
  CHECK(held.cron.jobs() == 0);
  CHECK(held.cron.loop.ticker.next() == held.due);
  held.cron.wake_at(held.due);
  CHECK(held.cron.jobs() == 1);
  CHECK(held.cron.shown().runs.at(0).planned == kFullMinute);
  CHECK(held.cron.has_logged("job=Other/"));
  held.cron.wake_at(kFullMinute + 59s);
  CHECK(held.cron.jobs() == 1);
}

TEST_CASE("cron runs: a run that was done is not done again by the changed entry") {
  Held held;
  held.cron.wake_at(held.due);
  REQUIRE(held.cron.jobs() == 1);
  held.change(kMinutely + "\njitter = 59");
  held.cron.wake_at(kFullMinute + 59s);
  CHECK(held.cron.jobs() == 1);
  held.cron.pass(1min);
  CHECK(held.cron.jobs() == 2);
}

TEST_CASE("cron runs: a run held back is done at once where the entry has no jitter any more") {
  Held held;
  held.change(kMinutely, "type = \"Tick\"");
  CHECK(held.cron.jobs() == 1);
  held.cron.wake_at(kFullMinute + 59s);
  CHECK(held.cron.jobs() == 1);
}

TEST_CASE(
    "cron runs: a run held back is done at once where the schedule has no such run any more") {
  Held held;
  held.change(kHourly + held.jitter);
  CHECK(held.cron.jobs() == 1);
  CHECK(held.cron.shown().runs.at(0).planned == kFullMinute);
  CHECK(held.cron.shown().next.at(0) == Down::kHour);
}

TEST_CASE("cron runs: a run held back is done in another time zone too") {
  Held held;
  held.change(kMinutely + "\ntimezone = \"Asia/Kolkata\"" + held.jitter);
  held.cron.wake_at(kFullMinute + 59s);
  CHECK(held.cron.jobs() == 1);
}

TEST_CASE("cron runs: an entry that is renamed does the run that was held back, once") {
  Held held("name = \"old\"\nschedule = \"* * * * *\"");
  held.change(kMinutely + held.jitter, "type = \"Tick\"");
  held.cron.wake_at(kFullMinute + 59s);
  CHECK(held.cron.jobs() == 1);
  CHECK(held.cron.shown().runs.at(0).planned == kFullMinute);
  Held done("name = \"old\"\nschedule = \"* * * * *\"");
  done.cron.wake_at(done.due);
  done.change(kMinutely + done.jitter, "type = \"Tick\"");
  done.cron.wake_at(kFullMinute + 59s);
  CHECK(done.cron.jobs() == 1);
}

TEST_CASE("cron runs: entries without names that are changed do the runs that were held back") {
  const std::string head = "schedule = \"* * * * *\"\njitter = 50";
  std::string before;
  std::string after;
  for (int i = 0; i < 7; ++i) {
    before += cron_entry(head, "type = \"T" + std::to_string(i) + "\"");
    after += cron_entry(head, "type = \"T" + std::to_string(i) + "\"\nqueue = \"q\"");
  }
  CronLoop cron(before);
  cron.begin();
  cron.wake_at(kFullMinute + 25s);
  const std::uint64_t done = cron.jobs();
  REQUIRE(done > 0);
  REQUIRE(done < 7);
  cron.set(after);
  cron.work();
  cron.wake_at(kFullMinute + 59s);
  CHECK(cron.jobs() == 7);
  for (int i = 0; i < 7; ++i) CHECK(cron.has_logged("job=T" + std::to_string(i) + "/"));
}

TEST_CASE("cron runs: an entry that left the files and is back does the run that is to come") {
  Held held;
  held.cron.set("");
  held.cron.work();
  held.change(kMinutely + held.jitter);
  CHECK(held.cron.jobs() == 0);
  held.cron.wake_at(held.due);
  CHECK(held.cron.jobs() == 1);
  Held late;
  late.cron.set("");
  late.cron.pass(58s);
  late.change(kMinutely + late.jitter);
  CHECK(late.cron.jobs() == 0);
}

TEST_CASE("cron runs: a pause that ends before a run held back is to be done keeps the run") {
  Held held;
  REQUIRE(held.cron.runner.pause("e", Held::kNow));
  REQUIRE(held.cron.runner.resume("e", Held::kNow));
  held.cron.wake_at(held.due);
  CHECK(held.cron.jobs() == 1);
  Held late;
  REQUIRE(late.cron.runner.pause("e", Held::kNow));
  late.cron.pass(55s);
  REQUIRE(late.cron.runner.resume("e", late.cron.loop.clock.now()));
  late.cron.work();
  CHECK(late.cron.jobs() == 0);
}

TEST_CASE("cron runs: an entry that is disabled drops the run that was held back") {
  Held held;
  held.change(kMinutely + held.jitter + "\nenabled = false");
  held.cron.pass(1min);
  CHECK(held.cron.jobs() == 0);
}

TEST_CASE("cron runs: a restart with a changed entry keeps the run that was held back") {
  Held held;
  CronLoop after(cron_entry(kMinutely + held.jitter, "type = \"Other\""));
  after.go_on_from(held.cron, Held::kNow);
  CHECK(after.jobs() == 0);
  after.wake_at(held.due);
  CHECK(after.jobs() == 1);
}

TEST_CASE("cron runs: an entry that is disabled does not run, nor catch up later") {
  CronLoop cron(cron_entry(kMinutely + "\nenabled = false"));
  cron.begin();
  cron.pass(10min);
  CHECK(cron.jobs() == 0);
  CHECK(cron.shown().next.empty());
  cron.set(cron_entry(kMinutely));
  cron.work();
  CHECK(cron.jobs() == 0);
  cron.pass(1min);
  CHECK(cron.jobs() == 1);
}

TEST_CASE("cron runs: an entry that is gone does not run") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.set("");
  cron.pass(10min);
  CHECK(cron.jobs() == 0);
  CHECK(cron.runner.count() == 0);
  CHECK(cron.loop.broker.view().cron().find("e")->gone_since != Time{});
}

TEST_CASE("cron runs: a paused entry waits for its resumption, across a restart") {
  CronLoop before(cron_entry(kMinutely));
  before.begin();
  REQUIRE(before.runner.pause("e", before.loop.clock.now()));
  before.pass(10min);
  CHECK(before.jobs() == 0);
  CHECK(before.shown().next.empty());
  CronLoop after(cron_entry(kMinutely));
  after.go_on_from(before, kBegin + 20min);
  after.pass(10min);
  CHECK(after.jobs() == 0);
  REQUIRE(after.runner.resume("e", after.loop.clock.now()));
  after.work();
  CHECK(after.jobs() == 0);
  after.pass(1min);
  CHECK(after.jobs() == 1);
}

TEST_CASE("cron runs: run now pushes a job, and leaves the plan as it is") {
  CronLoop cron(cron_entry(kHourly));
  cron.begin();
  const auto jid = cron.runner.run_now("e", cron.loop.clock.now());
  REQUIRE(jid);
  CHECK(cron.jobs() == 1);
  CHECK(cron.shown().runs.at(0).jid == *jid);
  CHECK(cron.shown().runs.at(0).is_by_hand);
  CHECK(cron.shown().next.at(0) == Down::kHour);
  CHECK(cron.runner.run_now("x", cron.loop.clock.now()).error().text ==
        "there is no such cron entry");
}

TEST_CASE("cron runs: operators are shown five next runs") {
  CronLoop cron(cron_entry(kHourly + "\ntimezone = \"Europe/Berlin\""));
  cron.begin();
  const auto shown = cron.shown();
  CHECK(shown.next == std::vector<Time>{Down::kHour, Down::kHour + 1h, Down::kHour + 2h,
                                        Down::kHour + 3h, Down::kHour + 4h});
  CHECK(shown.next_offsets == std::vector<std::chrono::seconds>(5, 1h));
  CHECK(shown.schedule == "0 * * * *");
  CHECK(shown.time_zone == "Europe/Berlin");
  CHECK(shown.catch_up == "one");
  CHECK(cron.runner.page(0, 10).size() == 1);
  CHECK(cron.runner.page(1, 10).empty());
}

TEST_CASE("cron runs: a full disk is waited for, as long as runs may be late") {
  CronLoop cron(cron_entry(kHourly));
  cron.begin();
  cron.loop.broker.set_admission(Admission::kNoJobs);
  cron.pass(Down::kHour - kBegin + 10min);
  CHECK(cron.jobs() == 0);
  CHECK(cron.has_logged("cron_waits reason=\"no room for jobs\""));
  CHECK(cron.shown().runs.empty());
  cron.loop.broker.set_admission(Admission::kEverything);
  cron.pass(1s);
  CHECK(cron.jobs() == 1);
  CHECK(cron.shown().runs.at(0).planned == Down::kHour);
}

TEST_CASE("cron runs: with a full disk at the start, entries begin when there is room") {
  CronLoop cron(cron_entry(kMinutely));
  cron.loop.broker.set_admission(Admission::kNoGrowth);
  cron.begin();
  cron.pass(10min);
  CHECK(cron.loop.broker.view().cron().count() == 0);
  cron.loop.broker.set_admission(Admission::kEverything);
  cron.pass(2s);
  CHECK(cron.loop.broker.view().cron().count() == 1);
  cron.pass(1min);
  CHECK(cron.jobs() == 1);
}

TEST_CASE("cron runs: pushes go on to a paused queue, and to one that was removed") {
  CronLoop cron(cron_entry(kMinutely));
  cron.begin();
  cron.pass(1min);
  const Time now = cron.loop.clock.now();
  REQUIRE(cron.loop.broker.admin().pause("default", std::nullopt, now));
  cron.pass(1min);
  CHECK(cron.jobs() == 2);
  REQUIRE(cron.loop.broker.admin().forget_queue("default", now));
  cron.pass(1min);
  CHECK(cron.jobs() == 3);
}

TEST_CASE("cron runs: a push that is refused is in the history, and not tried again") {
  CronLoop cron(cron_entry(kMinutely));
  CronRunner refused({.ticker = cron.loop.ticker,
                      .broker = cron.loop.broker,
                      .log = cron.log,
                      .push =
                          [](std::string_view, Time, Time) {
                            return PushRefusal{PushRefusal::Reason::kNotUnique, "NOTUNIQUE no"};
                          },
                      .random = [] { return 1; }});
  refused.set(table_of(cron_entry(kMinutely)));
  refused.begin();
  cron.pass(90s);
  const auto shown = refused.find("e");
  REQUIRE(shown->runs.size() == 1);
  CHECK(shown->runs[0].problem == "NOTUNIQUE no");
  CHECK(shown->runs[0].job == 0);
  CHECK(cron.has_logged("cron_refused entry=e job=Tick/"));
  CHECK(cron.has_logged("problem=\"NOTUNIQUE no\""));
}

TEST_CASE("cron runs: ten thousand entries of one minute are done in slices") {
  std::string config;
  for (int i = 0; i < 10'000; ++i) {
    config += cron_entry("schedule = \"* * * * *\"", "type = \"T" + std::to_string(i) + "\"");
  }
  CronLoop cron(config);
  cron.begin();
  cron.loop.clock.set(kFullMinute);
  cron.loop.ticker.work(kFullMinute);
  CHECK(cron.jobs() == kSliceRuns);
  cron.work();
  CHECK(cron.jobs() == 10'000);
}

TEST_CASE("cron runs: many entries are compared with the log in slices") {
  std::string config;
  for (int i = 0; i < 600; ++i) {
    config += cron_entry("schedule = \"* * * * *\"", "type = \"T" + std::to_string(i) + "\"");
  }
  CronLoop cron(config);
  cron.runner.begin();
  cron.loop.ticker.work(cron.loop.clock.now());
  CHECK(cron.loop.broker.view().cron().count() == kSliceChanges);
  cron.work();
  CHECK(cron.loop.broker.view().cron().count() == 600);
  cron.set("");
  cron.work();
  cron.loop.clock.set(cron.loop.clock.now() + kCronForgottenAfter);
  cron.set("");
  cron.work();
  CHECK(cron.loop.broker.view().cron().count() == 0);
}

}  // namespace millrace::server
