#include "cli/options/verb_rows.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "base/check.hpp"
#include "base/number.hpp"
#include "cli/interrupts.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

using Number = VerbWord::Number;

constexpr VerbWord kIds{"ID", "Numbers or jids of jobs; none: the jobs that match", Number::kAny};
constexpr unsigned kChanges = kServer | kState | kFilters | kChange;
constexpr unsigned kMoves = kServer | kMoveTo | kFilters | kChange;

constexpr const char* kShown =
    "Exit status 0: shown, also if there is nothing to show. 1: the server refused. 2: wrong "
    "arguments. 3: the server cannot be reached.";
constexpr const char* kFound =
    "Exit status 0: shown, also if there is nothing at all. 1: nothing matches the filters, or the "
    "server refused. 2: wrong arguments. 3: the server cannot be reached.";
constexpr const char* kChanged =
    "Exit status 0: done; or counted, with --dry-run. 1: no job matches, not all jobs were "
    "changed, or the server refused. 2: wrong arguments. 3: the server cannot be reached. 130: "
    "Ctrl-C cancelled it; what was changed stays changed.";
constexpr const char* kChangedIfAgreed =
    "Exit status 0: done; or counted, with --dry-run. 1: only counted, without --yes; or no job "
    "matches, not all jobs were changed, or the server refused. 2: wrong arguments. 3: the server "
    "cannot be reached. 130: Ctrl-C cancelled it; what was changed stays changed.";
constexpr const char* kTurned =
    "Exit status 0: done. 1: the server refused, for one queue at least. 2: wrong arguments. 3: "
    "the server cannot be reached.";
constexpr const char* kActed =
    "Exit status 0: shown, or done. 1: nothing matches, nothing was deleted without --yes, or the "
    "server refused. 2: wrong arguments. 3: the server cannot be reached. 130: Ctrl-C cancelled "
    "it; what was changed stays changed.";
constexpr const char* kFollowed =
    "Exit status 0: Ctrl-C ended it, or nobody reads its output. 1: the server refused. 2: wrong "
    "arguments. 3: the server cannot be reached, or has ended.";
constexpr const char* kWatched =
    "Keys: s sorts by the next column, / shows the queues with a part in their names, arrows "
    "choose a queue, p pauses or resumes it, q ends it.\n"
    "Exit status 0: q or Ctrl-C ended it. 1: the server refused. 2: wrong arguments. 3: the server "
    "could not be reached, at the beginning or at the end.";

constexpr std::array kVerbRows = {
    VerbRow{"stats",
            "Show statistics and what needs attention",
            {},
            kServer | kWatch,
            show_stats,
            kShown},
    VerbRow{"health",
            "Check whether a server serves clients, as leader or standby",
            {},
            kServer | kWatch,
            show_health,
            "Exit status 0: it serves clients, or forwards them to the leader. 1: it does not. 2: "
            "wrong arguments. 3: the server cannot be reached."},
    VerbRow{
        "cluster", "List the servers that share a log", {}, kServer | kWatch, show_cluster, kShown},
    VerbRow{
        "queues",
        "List queues, or clear or delete one",
        {VerbWord{"ACTION", "clear: delete its ready jobs; delete: delete all but reserved ones",
                  Number::kOptional, ValueHint{.words = kQueueActionWords}},
         VerbWord{"QUEUE", "Its name", Number::kOptional, kQueueHint}},
        kServer | kMatch | kAgreed | kWatch,
        list_queues,
        kActed},
    VerbRow{"ls",
            "List jobs in a state",
            {VerbWord{"STATE", "scheduled, ready, reserved, retrying, dead or completed",
                      Number::kOne, ValueHint{.words = kListedStateWords}}},
            kServer | kFilters | kList | kRows | kOutcome | kWatch,
            list_jobs,
            kFound},
    VerbRow{"peek",
            "Show a job; --json prints every field",
            {VerbWord{"ID", "Its number or jid"}},
            kServer,
            peek_job,
            "Exit status 0: shown. 1: there is no such job, or the server refused. 2: wrong "
            "arguments. 3: the server cannot be reached."},
    VerbRow{"tail",
            "Print job events as they happen, until Ctrl-C",
            {},
            kServer | kTail,
            tail_jobs,
            kFollowed},
    VerbRow{"retry", "Make jobs ready", {kIds}, kChanges | kSpread, retry_jobs, kChanged},
    VerbRow{"move", "Move jobs to another queue", {kIds}, kMoves, move_jobs, kChanged},
    VerbRow{"kill", "Make jobs dead", {kIds}, kChanges | kDangerous, kill_jobs, kChangedIfAgreed},
    VerbRow{"delete", "Delete jobs", {kIds}, kChanges | kDangerous, delete_jobs, kChangedIfAgreed},
    VerbRow{"pause",
            "Pause queues: workers get no jobs from them",
            {VerbWord{"QUEUE", "Its name", Number::kMany, kQueueHint}},
            kServer | kPause,
            pause_queues,
            kTurned},
    VerbRow{"resume",
            "Resume paused queues",
            {VerbWord{"QUEUE", "Its name", Number::kMany, kQueueHint}},
            kServer,
            resume_queues,
            kTurned},
    VerbRow{"push",
            "Push a job, or one for each line of a file or of stdin",
            {VerbWord{"TYPE", "Its jobtype; or - or @FILE, to push the jobs that are there"},
             VerbWord{"ARGS",
                      "Its arguments, a JSON array; @FILE reads them from a file, - from stdin "
                      "(default: from stdin unless it is a terminal; [] if nothing is there)",
                      Number::kOptional}},
            kServer | kPush,
            push_job,
            "Exit status 0: pushed. 1: the server refused. 2: wrong arguments. 3: the server "
            "cannot be reached. 4: the job is unique, and is there already."},
    VerbRow{
        "put",
        "Put a job over the beanstalk protocol",
        {VerbWord{"BODY", "Its bytes (default, and with -: those of stdin)", Number::kOptional}},
        kJobPort | kPut,
        put_job,
        "Exit status 0: put. 1: the server refused. 2: wrong arguments. 3: the server cannot be "
        "reached, or has not answered: the job may have been put."},
    VerbRow{"fetch",
            "Reserve ready jobs, print them as JSON, and release them",
            {VerbWord{"QUEUE", "Take jobs of these queues (default: default)", Number::kAny,
                      kQueueHint}},
            kJobPort | kFetch,
            fetch_jobs,
            "Exit status 0: fetched one job or more. 1: no job was ready, the server refused, or a "
            "job could not be written, or was held for too long. 2: wrong arguments. 3: the server "
            "cannot be reached. 130: Ctrl-C ended it. Jobs that were not deleted are given back."},
    VerbRow{"top", "Show queues and workers, live; for a terminal", {}, kTop, show_top, kWatched},
    VerbRow{"workers",
            "List Faktory workers, or quiet or stop them",
            {VerbWord{"ACTION", "quiet: fetch no more jobs; stop: shut down", Number::kOptional,
                      ValueHint{.words = kWorkerActionWords}},
             VerbWord{"WID", "The worker", Number::kOptional}},
            kServer | kWorkers | kWatch,
            list_workers,
            kActed},
    VerbRow{"types",
            "List job types, with runs, failures and run times since the server started",
            {},
            kServer | kWatch,
            list_types,
            kShown},
    VerbRow{"audit",
            "List changes by people and administrators, and refused attempts",
            {},
            kServer | kRows | kWatch | kAudit,
            list_changes,
            kShown},
    VerbRow{"locks",
            "List the locks of unique jobs, or free one",
            {VerbWord{"ACTION", "free: the job continues without its lock", Number::kOptional,
                      ValueHint{.words = kLockActionWords}},
             VerbWord{"JOB", "The number of the job that holds the lock", Number::kOptional}},
            kServer | kLocks | kRows | kWatch,
            list_locks,
            kActed},
    VerbRow{"errors",
            "List errors of failed jobs, the most frequent first",
            {},
            kServer | kWatch,
            list_errors,
            kShown},
    VerbRow{
        "batches",
        "List batches, newest first, or show or change one",
        {VerbWord{
             "ACTION",
             "show it, retry its dead members, discard unfinished ones, accept permanently failed "
             "ones as succeeded, or delete it",
             Number::kOptional, ValueHint{.words = kBatchActionWords}},
         VerbWord{"BID", "The batch", Number::kOptional}},
        kServer | kRows | kBatches | kAgreed | kWatch,
        list_batches,
        kActed},
    VerbRow{"cron",
            "List cron entries, or run, pause or resume one",
            {VerbWord{"ACTION", "run, pause or resume; without it, entries are listed",
                      Number::kOptional, ValueHint{.words = kCronActionWords}},
             VerbWord{"NAME", "The name of the entry", Number::kOptional}},
            kServer | kWatch,
            turn_cron,
            "Exit status 0: done. 1: the server refused. 2: wrong arguments. 3: the server cannot "
            "be reached. 4: the entry's job is unique, and is there already."},
    VerbRow{"throttles",
            "List, override or reset the limits of queues and types",
            {VerbWord{"ACTION", "set or reset; without it, the limits are listed",
                      Number::kOptional, ValueHint{.words = kThrottleActionWords}},
             VerbWord{"NAME", "A queue, or type: and a jobtype", Number::kOptional, kQueueHint}},
            kServer | kThrottles | kWatch,
            turn_throttles,
            "Exit status 0: done. 1: the server refused. 2: wrong arguments. 3: the server cannot "
            "be reached."},
    VerbRow{"tokens",
            "List, make or revoke tokens, with which programs use the API",
            {VerbWord{"ACTION", "new or revoke; without it, your tokens are listed",
                      Number::kOptional, ValueHint{.words = kTokenActionWords}},
             VerbWord{"NAME", "With `new`: its name; with `revoke`: its ID, which the list has",
                      Number::kOptional}},
            kServer | kTokens | kWatch,
            turn_tokens,
            "`new` prints the token once. Programs send it as `Authorization: Bearer TOKEN`; the "
            "other verbs take it from MILLRACE_TOKEN. A token cannot list, make or revoke tokens: "
            "this verb ignores MILLRACE_TOKEN and needs the password of a user.\n"
            "Exit status 0: done. 1: the server refused. 2: wrong arguments. 3: the server cannot "
            "be reached."},
    VerbRow{"export",
            nullptr,
            {},
            kServer | kState | kFilters | kExport,
            export_jobs,
            "Without DIR the jobs of a running server that match are written as NDJSON, which "
            "`millrace import FILE` takes. Exit status 0: written. 1: no job matches, or FILE is "
            "there already. 2: wrong arguments. 3: the server cannot be reached."},
    VerbRow{"import",
            nullptr,
            {VerbWord{"FILE", "NDJSON of export, - for stdin: a running server gets the jobs",
                      Number::kOptional}},
            kServer | kJobPort,
            import_jobs,
            "With FILE, pushed jobs that are there or were done are skipped. Exit status 0: all "
            "are there. 1: the server refused one. 2: wrong arguments; nothing is imported. 3: the "
            "server cannot be reached."},
    VerbRow{"dev",
            "Run a throwaway server for testing; its data is lost on exit",
            {},
            kDev,
            nullptr,
            "Exit status 0: Ctrl-C or SIGTERM ended it. 1: the server did not start, or has "
            "failed. 2: wrong arguments."},
    VerbRow{"doctor",
            "Find common problems and suggest fixes",
            {VerbWord{"TARGET",
                      "A data directory, or the URL of a server's web port (default: the server "
                      "that MILLRACE_URL or FAKTORY_URL names, or http://127.0.0.1:7420)",
                      Number::kOptional}},
            kDoctor,
            nullptr,
            "Exit status 0: all is well. 1: there are findings. 2: wrong arguments, or no such "
            "directory. 3: the server cannot be reached."},
    VerbRow{
        "bench",
        "Benchmark a server on this machine and disk",
        {VerbWord{"DIR", "A directory on the disk (default: the present one)", Number::kOptional}},
        kBench,
        nullptr,
        "Exit status 0: measured. 1: not, as when the directory cannot be written. 2: wrong "
        "arguments. 130: Ctrl-C ended it."},
};

constexpr std::chrono::seconds kWatchInterval(2);

/// Again and again on a cleared terminal, until a signal or a failure ends it.
Exit watch(Session& session, Verb verb) {
  const bool is_list = std::string_view(session.choice.verb->words[0].name == nullptr
                                            ? ""
                                            : session.choice.verb->words[0].name) != "ACTION";
  if (!is_list && !session.choice.words.empty()) {
    return session.refuse_usage("--watch cannot be combined with an ACTION");
  }
  Interrupts interrupts;
  Exit exit = Exit::kDone;
  do {
    if (session.console.look().columns) session.console.print("\x1b[H\x1b[2J");
    exit = verb(session);
    const bool is_read = session.console.finish() && !session.console.has_lost_reader();
    if (exit != Exit::kDone || !is_read) return exit;
  } while (!interrupts.wait(kWatchInterval));
  return exit;
}

/// Makes times of ages, which are those of the server's clock.
Reply<Done> date_filters(Choice& choice, Api& api) {
  for (Filter& filter : choice.filters) {
    if (!filter.is_age) continue;
    const Reply<Answer> answer = api.get("overview");
    if (!answer) return answer.error();
    const auto age_s = parse_number<std::int64_t>(filter.text).value_or(0);
    filter.text = std::to_string(std::max<std::int64_t>(answer->now_ms - age_s * 1000, 1));
    filter.is_number = true;
    filter.is_age = false;
  }
  return Done{};
}

}  // namespace

std::span<const VerbRow> verb_rows() {
  return kVerbRows;
}

bool has_option(std::string_view verb, std::string_view name) {
  const auto row = std::ranges::find(kVerbRows, verb, &VerbRow::name);
  if (row == kVerbRows.end()) return false;
  const bool is_word = std::ranges::any_of(
      row->words, [&](const VerbWord& word) { return word.name != nullptr && name == word.name; });
  return is_word || std::ranges::any_of(verb_options(), [&](const VerbOption& option) {
           return (option.groups & row->groups) != 0 && name == std::string("--") + option.name;
         });
}

int run(const Choice& choice, FindVerb find_other) {
  CHECK(choice.verb != nullptr);
  // A server that closes its end, or a pager that ends, is seen when writing.
  std::signal(SIGPIPE, SIG_IGN);
  Console console(choice.has_colors);
  Api api(choice);
  Choice dated = choice;
  Session session{.choice = dated, .api = api, .console = console};
  if (auto done = date_filters(dated, api); !done) {
    return static_cast<int>(session.fail(done.error()));
  }
  const Verb verb = choice.verb->run == nullptr ? find_other(choice.verb->name) : choice.verb->run;
  CHECK(verb != nullptr);
  Exit exit = choice.is_watched ? watch(session, verb) : verb(session);
  if (!console.finish() && exit == Exit::kDone) {
    exit = session.fail({.text = "the output could not be written"});
  }
  return static_cast<int>(exit);
}

}  // namespace millrace::cli
