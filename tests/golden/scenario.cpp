#include "golden/scenario.hpp"

#include <array>
#include <chrono>
#include <map>
#include <string_view>

#include "base/check.hpp"
#include "base/text.hpp"
#include "faktory/job/work_unit.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::golden {
namespace {

using namespace std::chrono_literals;
using test::InMemoryServer;
using test::Protocol;

constexpr std::array kStates = {"scheduled", "ready", "reserved", "retrying", "dead"};

void put(InMemoryServer& server, const std::string& how, const std::string& body) {
  server.send("producer",
              "put " + how + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
}

void say(InMemoryServer& server, const std::string& client, const std::string& line) {
  server.send(client, line + "\r\n");
}

void connect(InMemoryServer& server) {
  server.connect("producer", Protocol::kBeanstalk);
  server.connect("consumer", Protocol::kBeanstalk);
  server.connect("pusher", Protocol::kFaktory);
  say(server, "pusher", R"(HELLO {"v":2})");
}

/// The name of a new batch with both callbacks.
std::string begin_batch(InMemoryServer& server) {
  const std::string reply = server.ask(
      "pusher",
      R"(BATCH NEW {"description":"all","success":{"jobtype":"S","args":[],"queue":"calls"},)"
      R"("complete":{"jid":"complete-callback","jobtype":"C","args":[3],"queue":"calls"}})"
      "\r\n");
  // What was not read before comes first; the name and a line end are last.
  constexpr std::size_t kNameBytes = 16;
  return reply.substr(reply.size() - kNameBytes - 2, kNameBytes);
}

/// So that there is a history: a day that is over. A track and a batch are forgotten with it.
void work_yesterday(InMemoryServer& server) {
  (void)begin_batch(server);
  say(server, "pusher", R"(TRACK SET {"jid":"forgotten-one","percent":1})");
  say(server, "pusher", R"(PUSH {"jid":"yesterday","jobtype":"T","args":[],"queue":"early"})");
  say(server, "pusher", "FETCH early");
  say(server, "pusher", R"(ACK {"jid":"yesterday"})");
  server.advance(24h);
  server.connect("worker", Protocol::kFaktory);
  say(server, "worker", R"(HELLO {"v":2,"wid":"worker-1","hostname":"host","pid":7})");
}

void work_with_tubes(InMemoryServer& server) {
  say(server, "consumer", "watch mail");
  say(server, "consumer", "use mail");
  say(server, "producer", "use mail");
  put(server, "10 0 60", "released, buried and kicked");                      // 2
  put(server, "20 0 1", "timed out");                                         // 3
  put(server, "30 0 60", "");                                                 // 4, stays ready
  put(server, "4294967295 100000 4294967295", std::string("\0\r\n\xff", 4));  // 5, stays delayed
  for (const char* const line : {"reserve", "release 2 11 0", "reserve", "bury 2 12", "kick 1",
                                 "reserve", "touch 2", "release 2 13 86400000", "reserve"}) {
    say(server, "consumer", line);
  }
  server.advance(2s);
  put(server, "5 0 60", "buried");                         // 6
  put(server, "5 0 60", "deleted");                        // 7
  put(server, "5 0 60", "reserved by a connection");       // 8
  put(server, "0 0 60", "reserved after it was delayed");  // 9
  for (const char* const line : {"reserve-job 6", "bury 6 77", "delete 7", "reserve-job 9",
                                 "release 9 1 86400", "reserve-job 9", "reserve-job 8"}) {
    say(server, "consumer", line);
  }
  say(server, "producer", "use idle");
  put(server, "0 0 60", std::string(2000, 'l'));  // 10
  say(server, "producer", "pause-tube idle 86400000");
}

void work_with_queues(InMemoryServer& server) {
  const auto push = [&](const std::string& more) {
    say(server, "pusher", R"(PUSH {"jobtype":"Mail","args":[1,"two",{"three":3}],)" + more + "}");
  };
  const auto fail = [&](const std::string& jid) {
    say(server, "worker", "FETCH work");
    say(server, "worker",
        R"(FAIL {"jid":")" + jid +
            R"(","errtype":"IOError","message":"no \u00e9nd",)"
            R"("backtrace":["one.rb:1","two.rb:22"]})");
  };
  push(R"("jid":"acknowledged","queue":"work")");
  say(server, "worker", "FETCH work");
  say(server, "worker", R"(ACK {"jid":"acknowledged"})");
  push(R"("jid":"will-retry","queue":"work","retry":3)");
  fail("will-retry");
  push(R"("jid":"gave-up-early","queue":"work","retry":0)");
  fail("gave-up-early");
  push(R"("jid":"was-dropped","queue":"work","retry":-1)");
  fail("was-dropped");
  push(R"("jid":"scheduled-one","queue":"work","at":"2033-05-18T03:33:20.123456789Z")");
  push(R"("jid":"killed-one","queue":"work","at":"2033-05-18T03:33:21Z","custom":{"k":"v"})");
  say(server, "worker",
      R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"jids":["killed-one"]}})");
  push(R"("jid":"held-by-worker","queue":"work","reserve_for":86400)");
  say(server, "worker", "FETCH work");
  push(R"("jid":"held-by-nobody","queue":"work","reserve_for":86400)");
  say(server, "pusher", "FETCH work");
  push(R"("jid":"waits-here","queue":"work","priority":9)");
  say(server, "pusher",
      R"(PUSHB [{"jid":"bulk-1-of-2","jobtype":"B","args":[],"queue":"bulk"},)"
      R"({"jid":"bulk-2-of-2","jobtype":"B","args":[],"queue":"bulk"}])");
  push(R"("jid":"fails-twice","queue":"failing","retry":3)");
  for (const char* const message : {"the first", "the second"}) {
    say(server, "worker",
        R"(MUTATE {"cmd":"requeue","target":"retries","filter":{"jids":["fails-twice"]}})");
    say(server, "worker", "FETCH failing");
    say(server, "worker",
        std::string(R"(FAIL {"jid":"fails-twice","errtype":"E","backtrace":["a"],"message":")") +
            message + R"("})");
  }
  say(server, "consumer", "watch bulk");
  say(server, "worker", "QUEUE PAUSE bulk");
  push(R"("jid":"emptied-one","queue":"emptied")");
  say(server, "worker", "QUEUE REMOVE emptied");
  push(R"("jid":"kept-queue","queue":"kept")");
  say(server, "worker", "FETCH kept");
  say(server, "worker", R"(ACK {"jid":"kept-queue"})");
}

/// All that a client can ask for besides a run.
void work_with_features(InMemoryServer& server) {
  const auto push = [&](const std::string& jid, const std::string& custom) {
    say(server, "pusher",
        R"(PUSH {"jobtype":"Mail","args":[")" + jid + R"("],"queue":"features","jid":")" + jid +
            R"(","custom":)" + custom + "}");
  };
  push("unique-until-success", R"({"unique_for":600.5})");
  push("unique-until-start", R"({"unique_for":"3600","unique_until":"start"})");
  push("expires-late", R"({"expires_at":"2033-05-18T03:33:20.5Z"})");
  push("tracked-and-ended", R"({"track":1})");
  push("tracked-and-waiting", R"({"track":1})");
  say(server, "worker", R"(TRACK SET {"jid":"tracked-and-waiting","percent":7,"desc":"seven"})");
  say(server, "worker", R"(TRACK SET {"jid":"nobody-has-it","percent":8})");
  // Taken by hand: a dead job that gets its lock anew.
  say(server, "pusher",
      R"(PUSH {"jobtype":"T","args":[2],"queue":"features","jid":"locked-anew",)"
      R"("at":"2033-05-18T03:33:22Z","custom":{"unique_for":60}})");
  for (const char* const command :
       {R"({"cmd":"kill","target":"scheduled")", R"({"cmd":"requeue","target":"dead")"}) {
    say(server, "worker",
        std::string("MUTATE ") + command + R"(,"filter":{"jids":["locked-anew"]}})");
  }
  const std::string bid = begin_batch(server);
  push("member-that-runs", R"({"bid":")" + bid + R"("})");
  push("member-that-waits", R"({"bid":")" + bid + R"("})");
  say(server, "worker", "QUEUE REMOVE calls");
  say(server, "pusher", "BATCH COMMIT " + bid);
  CronRuns& cron = server.broker().cron();
  for (const char* const id : {"nightly", "left"}) CHECK(cron.begin(id, 7, server.now()));
  cron.note("nightly", {.planned = server.now(), .at = server.now(), .job = 1, .jid = "cron-job"});
  CHECK(cron.pause("nightly"));
  cron.end("left", server.now());
  CHECK(cron.begin("forgotten", 7, server.now()));
  cron.end("forgotten", server.now());
  cron.end("forgotten", server.now() + 24h * 30);
  AdminOperations& admin = server.broker().admin();
  CHECK(admin.set_throttle("features", {.concurrency = 300, .timeout_s = 60}, server.now()));
  CHECK(admin.set_throttle("gone", {.concurrency = 1, .timeout_s = 1}, server.now()));
  CHECK(admin.remove_throttle("gone", server.now()));
  push("of-a-tenant", R"({"throttle_key":"acme"})");
  CHECK(admin.set_throttle("keyed", {.timeout_s = 60, .per_key = 2}, server.now()));
}

/// The jobs of runs end: one in a run of a worker, one by hand; and one is still there.
void end_cron_runs(InMemoryServer& server) {
  CronRuns& cron = server.broker().cron();
  CHECK(cron.begin("ended", 7, server.now()));
  for (const std::string jid : {"cron-done", "cron-deleted", "cron-waits"}) {
    say(server, "pusher",
        R"(PUSH {"jobtype":"T","args":[],"queue":"cron","jid":")" + jid +
            (jid == "cron-deleted" ? R"(","at":"2033-05-18T03:33:22Z"})" : R"("})"));
    const JobId job = server.broker().view().counters().next_id - 1;
    cron.note("ended", {.planned = server.now(), .at = server.now(), .job = job, .jid = jid});
  }
  say(server, "worker", "FETCH cron");
  server.advance(3s);
  say(server, "worker", R"(ACK {"jid":"cron-done"})");
  say(server, "worker",
      R"(MUTATE {"cmd":"discard","target":"scheduled","filter":{"jids":["cron-deleted"]}})");
}

/// A worker is lost, and acknowledges its run while the next one, which beats, has the job.
void work_with_lost_workers(InMemoryServer& server) {
  server.broker().admin().set_worker_rules({.timeout = 60s, .poison_after = 3}, server.now());
  const auto connect_worker = [&server](const std::string& name, const std::string& wid) {
    server.connect(name, Protocol::kFaktory);
    say(server, name, R"(HELLO {"v":2,"hostname":"host","pid":9,"wid":")" + wid + "\"}");
    say(server, name, R"(BEAT {"wid":")" + wid + "\"}");
  };
  say(server, "pusher",
      R"(PUSH {"jid":"lost-once","jobtype":"T","args":[],"queue":"lost","reserve_for":86400})");
  connect_worker("first", "worker-2");
  say(server, "first", "FETCH lost");
  server.close("first");
  server.advance(61s);
  connect_worker("second", "worker-3");
  say(server, "second", "FETCH lost");
  say(server, "second", R"(FAIL {"jid":"lost-once","errtype":"MillraceRelease","message":""})");
  say(server, "second", "FETCH lost");
  connect_worker("first-again", "worker-2");
  say(server, "first-again", R"(ACK {"jid":"lost-once"})");
}

/// Two jobs whose bodies could not be read. One was written once more since.
void lose_bodies(InMemoryServer& server) {
  Ledger& ledger = server.ledger();
  for (const std::string jid : {"unreadable-body", "lost-body"}) {
    say(server, "pusher",
        R"(PUSH {"jobtype":"T","args":[],"queue":"bodies","jid":")" + jid + "\"}");
    const View& view = server.broker().view();
    const Job* const job = view.jobs().first_ready(*view.queues().find("bodies"));
    CHECK(job != nullptr);
    const JobId id = job->id;
    JobFields fields = job->fields();
    fields.marks |= job_marks::kBodyUnreadable;
    fields.state = JobState::kDead;
    fields.when = ledger.store().jobs().orders().time_of_death(server.now());
    fields.edit_history().failure = Failure{.failed_at = server.now(),
                                            .errtype = "BodyUnreadable",
                                            .message = "body unreadable: the disk"};
    ledger.commit(JobChanged{.id = id, .fields = std::move(fields)});
    if (jid != "lost-body") continue;
    ledger.commit(JobAdded{.id = id, .queue = "bodies", .body = {}, .fields = *job});
  }
}

void mark_errors(InMemoryServer& server) {
  AdminOperations& admin = server.broker().admin();
  const Time now = server.now();
  CHECK(admin.mark_error(1, {.muted_until = now + 24h, .note = "one", .noted_at = now}, now));
  CHECK(admin.mark_error(2, {.muted_below = 300}, now));
  CHECK(admin.mark_error(3, {.note = "gone", .noted_at = now}, now));
  CHECK(admin.mark_error(3, {}, now));
}

void save_views(InMemoryServer& server) {
  AdminOperations& admin = server.broker().admin();
  CHECK(admin.save_view("dead mail", "state:dead queue:mail"));
  CHECK(admin.save_view("gone", "state:ready"));
  CHECK(admin.save_view("gone", ""));
  CHECK(admin.save_view("über", "type:Übersicht"));
}

/// One whose jobs are counted later, and one that was tried twice.
void note_changes(InMemoryServer& server) {
  Activity& activity = server.broker().activity();
  const Change pause{.at = server.now(),
                     .protocol = "http",
                     .from = "192.0.2.7",
                     .user = "ana",
                     .how = "password",
                     .client = "web UI",
                     .action = "queues/pause",
                     .target = "mail",
                     .details = "for 60 s",
                     .page = "/queues/mail"};
  activity.note(pause);
  Change kill = pause;
  kill.action = "operations";
  activity.finish(activity.note(kill), 300);
  Change login = pause;
  login.action = "login";
  for (int i = 0; i < 2; ++i) activity.refuse(login, login.from);
  server.advance(1min);
}

/// One of several queues, and one that was revoked.
void make_tokens(InMemoryServer& server) {
  AdminOperations& admin = server.broker().admin();
  const Time now = server.now();
  const Token ci{.hash = std::string(kTokenHashBytes, 'c'),
                 .name = "ci",
                 .user = "ana",
                 .may = 0x0d,
                 .queues = {"mail*", "shop"},
                 .made_at = now,
                 .expires_at = now + 24h};
  CHECK(admin.add_token(ci, now));
  Token old = ci;
  old.hash.front() = 'd';
  old.name = "old";
  CHECK(admin.add_token(old, now));
  CHECK(admin.remove_token(old.hash));
}

std::string number(Time time) {
  return std::to_string(time.time_since_epoch().count());
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char& byte : bytes) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '\\';
    text += is_plain ? std::string{byte} : "\\x" + hex_of({&byte, 1});
  }
  return text;
}

std::string tell_features(const View& view, const Job& job) {
  if (!job.features) return "";
  const JobFeatures& features = *job.features;
  std::string text =
      "\n  features lock=" + std::to_string(features.lock_key.high) + "," +
      std::to_string(features.lock_key.low) + " lock_ends=" + number(features.lock_ends) + "," +
      number(job.lock_ends()) + " lock_seconds=" + std::to_string(features.lock_seconds) +
      " expires_at=" + number(features.expires_at) + " batch=" + std::to_string(features.batch) +
      " role=" + std::to_string(features.role) +
      " until_start=" + std::to_string(features.locks_until_start) +
      " tracked=" + std::to_string(features.is_tracked) + " marks=" + std::to_string(job.marks);
  if (!features.key().empty()) text += " key=" + std::string(features.key());
  const faktory::WorkUnits format;
  if (const Track* const track = view.jobs().progress_of(job, format.identify(job).jid)) {
    text += "\n  track percent=" + std::to_string(track->percent) + " " + track->desc;
  }
  return text;
}

std::string tell_batches(const View& view) {
  std::string text;
  for (const JobBatches::Slot slot : view.batches().by_creation()) {
    const JobBatch& batch = view.batches().at(slot);
    text += "batch " + std::to_string(batch.id) + " total=" + std::to_string(batch.fields.total) +
            " pending=" + std::to_string(batch.fields.pending) +
            " unexecuted=" + std::to_string(batch.fields.unexecuted) +
            " states=" + std::to_string(batch.fields.states) + "\n";
  }
  return text;
}

std::string tell_cron(const View& view) {
  std::string text;
  view.cron().each([&text](const CronEntry& entry) {
    text += "cron " + entry.id + " content=" + std::to_string(entry.content) +
            " planned=" + number(entry.planned) + " paused=" + std::to_string(entry.is_paused) +
            " gone_since=" + number(entry.gone_since) + "\n";
    for (const CronRun& run : entry.runs) {
      text += "  run " + number(run.at) + " " + run.jid;
      if (run.end) {
        text += " ended how=" + std::to_string(static_cast<int>(run.end->how)) +
                " began_at=" + number(run.end->began_at) + " ended_at=" + number(run.end->ended_at);
      }
      text += "\n";
    }
  });
  return text;
}

std::string tell_throttles(const View& view) {
  std::string text;
  view.throttles().table().page("", 100, [&text](const Throttle& throttle) {
    text += "throttle " + throttle.name +
            " by_hand=" + std::to_string(throttle.by_hand ? throttle.by_hand->concurrency : 0);
    if (throttle.by_hand && throttle.by_hand->per_key != 0) {
      text += " per_key=" + std::to_string(throttle.by_hand->per_key);
    }
    text += "\n";
  });
  return text;
}

std::string tell_changes(const AuditLog& log) {
  std::string text;
  log.each_before(log.end(), [&text](AuditLog::Number order, const Change& change) {
    text += "change " + std::to_string(order) + " at=" + number(change.at) + " " + change.protocol +
            " from " + change.from + " user=" + change.user + " how=" + change.how +
            " client=" + change.client + " " + change.action + " '" + change.target + "' '" +
            change.details + "' " + change.page +
            " outcome=" + std::to_string(static_cast<int>(change.outcome)) +
            " count=" + std::to_string(change.count) + "\n";
    return true;
  });
  return text;
}

std::string tell_tokens(const Tokens& tokens) {
  std::string text;
  tokens.each([&text](const Token& token) {
    text += "token " + token.hash + " '" + token.name + "' of " + token.user +
            " may=" + std::to_string(token.may);
    for (const std::string& each : token.queues) text += " " + each;
    text += " made_at=" + number(token.made_at) + " expires_at=" + number(token.expires_at) + "\n";
  });
  return text;
}

std::string tell_marks(const ErrorMarks& marks) {
  std::string text;
  marks.each([&text](std::uint64_t group, const ErrorMark& mark) {
    text += "error " + std::to_string(group) + " muted_until=" + number(mark.muted_until) +
            " muted_below=" + std::to_string(mark.muted_below) + " '" + mark.note +
            "' noted_at=" + number(mark.noted_at) + "\n";
  });
  return text;
}

std::string tell_views(const SavedViews& views) {
  std::string text;
  views.each([&text](const ViewSaved& view) {
    text += "view '" + view.name + "' '" + view.query + "'\n";
  });
  return text;
}

std::string tell_pushes(const EndedPushes& pushes) {
  std::map<JobId, std::string> lines;
  for (EndedPushes::Slot slot = 0; slot < pushes.slot_end(); ++slot) {
    const PushEnded* const push = pushes.in_slot(slot);
    if (push == nullptr) continue;
    lines[push->job] = "push " + std::to_string(push->key.high) + "," +
                       std::to_string(push->key.low) + " of " + std::to_string(push->job) +
                       " ended_at=" + number(push->ended_at) + "\n";
  }
  std::string text;
  for (const auto& [job, line] : lines) text += line;
  return text;
}

/// The latest first.
std::string tell_finished(const FinishedJobs& finished) {
  std::string text;
  finished.each_before(finished.end(), Time{}, [&](auto place, const FinishedJob& job) {
    text += "finished " + std::to_string(place) + " job " + std::to_string(job.id) +
            " kind=" + std::to_string(static_cast<int>(job.kind)) +
            " how=" + std::to_string(static_cast<int>(job.how)) +
            " reserves=" + std::to_string(job.reserves) + " client=" + std::to_string(job.client) +
            "\n  created_at=" + number(job.created_at) + " enqueued_at=" + number(job.enqueued_at) +
            " began_at=" + number(job.began_at) + " ended_at=" + number(job.ended_at) + "\n  '" +
            std::string(job.queue()) + "' '" + std::string(job.wid()) + "' '" +
            printable(job.name()) + "' '" + std::string(job.jid()) + "'\n";
    if (job.args) text += "  args " + printable(*job.args) + "\n";
    return true;
  });
  return text;
}

std::string tell_attempts(const View& view, const Job& job) {
  const Attempts* const attempts = view.jobs().attempts_of(job);
  if (attempts == nullptr) return "";
  std::string text;
  for (const Attempt& attempt : attempts->list) {
    text += "\n  attempt " + std::to_string(attempt.number) + " " + number(attempt.began) + " to " +
            number(attempt.ended) + " end=" + std::to_string(static_cast<int>(attempt.end)) +
            " tells=" + std::to_string(attempt.has_failure) + " by '" + attempt.wid + "' on '" +
            attempt.hostname + "' " + std::to_string(attempt.pid) + "," +
            std::to_string(attempt.connection) + " " + printable(attempt.errtype) + ": " +
            printable(attempt.message);
    for (const std::string& line : attempt.backtrace) text += "\n      at " + printable(line);
  }
  return text;
}

std::string tell_job(const View& view, const Job& job) {
  const Tallies tallies = job.tallies();
  std::string text =
      "job " + std::to_string(job.id) + (job.kind == JobKind::kWorkUnit ? " pushed" : " put") +
      "\n  " + kStates[static_cast<std::size_t>(job.state)] + " in " +
      view.queues().at(job.queue).name + " pri=" + std::to_string(job.pri) +
      " sequence=" + std::to_string(job.sequence) + " ttr_s=" + std::to_string(job.ttr_s) +
      " delay_s=" + std::to_string(job.delay_s) + "\n  created_at=" + number(job.created_at) +
      " enqueued_at=" + number(job.enqueued_at) + " when=" + number(job.when) +
      "\n  reserves=" + std::to_string(tallies.reserves) +
      " timeouts=" + std::to_string(tallies.timeouts) +
      " releases=" + std::to_string(tallies.releases) +
      " buries=" + std::to_string(tallies.buries) + " kicks=" + std::to_string(tallies.kicks);
  if (const Failure* const failure = job.failure()) {
    text += "\n  failure retry_count=" + std::to_string(failure->retry_count) +
            " remaining=" + std::to_string(failure->remaining) +
            " failed_at=" + number(failure->failed_at) + " next_at=" + number(failure->next_at) +
            " " + printable(failure->errtype) + ": " + printable(failure->message);
    for (const std::string& line : failure->backtrace) text += "\n    at " + printable(line);
  }
  if (const Reservation* const held = job.reservation()) {
    text +=
        "\n  held by '" + held->wid + "' as '" + held->jid + "' since " + number(held->reserved_at);
    if (job.has_mark(job_marks::kHolderBeats)) text += ", and beats";
  }
  if (job.has_mark(job_marks::kBodyUnreadable)) {
    text += job.has_body() ? "\n  its body could not be read" : "\n  its body is lost";
  }
  return text + tell_attempts(view, job) + tell_features(view, job) + "\n  body " +
         printable(job.body_view()) + "\n";
}

}  // namespace

std::vector<std::string> record_life() {
  // What ended yesterday is forgotten by now.
  InMemoryServer server({.pushes = {.after_end = 1h}, .finished = {.is_durable = true}});
  connect(server);
  work_yesterday(server);
  work_with_tubes(server);
  work_with_queues(server);
  work_with_features(server);
  work_with_lost_workers(server);
  lose_bodies(server);
  mark_errors(server);
  save_views(server);
  end_cron_runs(server);
  note_changes(server);
  make_tokens(server);
  return server.take_batches();
}

std::string tell(const View& view) {
  std::string text;
  const CountersChanged& counters = view.counters();
  for (JobId id = 1; id < counters.next_id; ++id) {
    if (const Job* const job = view.jobs().find(id)) text += tell_job(view, *job);
  }
  // Tubes that only a client keeps come and go with it.
  std::map<std::string, std::string> queues;
  for (const auto& [created, id] : view.queues().by_creation()) {
    const Queue& queue = view.queues().at(id);
    if (!queue.is_kept && queue.paused_until == Time{}) continue;
    queues[queue.name] = std::string(queue.is_kept ? " kept" : "") +
                         " paused_until=" + number(queue.paused_until) +
                         " pause_s=" + std::to_string(queue.pause_s);
  }
  for (const auto& [name, what] : queues) text += "queue " + name + what + "\n";
  text += "counters next_id=" + std::to_string(counters.next_id) +
          " processed=" + std::to_string(counters.processed) +
          " failed=" + std::to_string(counters.failed) + " day=" + std::to_string(counters.day) +
          " processed_today=" + std::to_string(counters.processed_today) +
          " failed_today=" + std::to_string(counters.failed_today) + "\n";
  for (const DayCounts& day : view.history()) {
    text += "day " + std::to_string(day.day) + " processed=" + std::to_string(day.processed) +
            " failed=" + std::to_string(day.failed) + "\n";
  }
  text += tell_batches(view) + tell_cron(view) + tell_throttles(view);
  text += tell_marks(view.error_marks()) + tell_views(view.saved_views()) +
          tell_pushes(view.ended_pushes()) + tell_finished(view.finished()) +
          tell_changes(view.audit_log()) + tell_tokens(view.tokens());
  if (view.tracks().size() > 0) text += "tracks " + std::to_string(view.tracks().size()) + "\n";
  return text;
}

}  // namespace millrace::golden
