#include <algorithm>
#include <span>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/options/verb_rows.hpp"
#include "cli/show/times.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

constexpr std::uint64_t kRowsMax = 1'000'000;
constexpr std::uint64_t kSlotsMax = 1'000'000;
constexpr std::uint64_t kBenchSecondsMax = 3600;
constexpr std::size_t kBenchConnectionsMax = 1000;

Outcome<Done> set(std::string& to, const std::string& text) {
  if (text.empty()) return Problem{"must not be empty"};
  to = text;
  return Done{};
}

Outcome<Done> set(bool& to, const std::string& text) {
  if (text != "true" && text != "false") return Problem{"must be true or false"};
  to = text == "true";
  return Done{};
}

Outcome<Done> set_url(Choice& choice, const std::string& text) {
  const auto url = parse_server_url(text);
  if (!url) return url.error();
  choice.url = *url;
  choice.has_url = true;
  return Done{};
}

Outcome<Done> check_word(std::string_view text, std::span<const std::string_view> words) {
  if (has_word(words, text)) return Done{};
  return Problem{must_be(words, text)};
}

/// Several are separated by commas.
Outcome<Done> set_states(Choice& choice, const std::string& text,
                         std::span<const std::string_view> words) {
  std::string_view rest = text;
  while (true) {
    const std::string_view state = rest.substr(0, rest.find(','));
    // Some words are for jobs that are named only, and are not offered for others.
    const bool is_for_named = choice.words.empty() && words.size() == kStateWords.size();
    const auto offered =
        is_for_named ? std::span<const std::string_view>(kMatchedStateWords) : words;
    if (!has_word(words, state)) return Problem{must_be(offered, state)};
    const std::string name(state);
    if (std::ranges::find(choice.states, name) == choice.states.end()) {
      choice.states.push_back(name);
    }
    if (state.size() == rest.size()) return Done{};
    rest.remove_prefix(state.size() + 1);
  }
}

/// Separated by commas. `words`: empty: any.
Outcome<Done> set_words(std::vector<std::string>& to, const std::string& text,
                        std::span<const std::string_view> words) {
  for (std::string_view rest = text;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    if (word.empty()) return Problem{"must not have an empty part"};
    if (!words.empty() && !has_word(words, word)) return Problem{must_be(words, word)};
    to.emplace_back(word);
    if (word.size() == rest.size()) return Done{};
    rest.remove_prefix(word.size() + 1);
  }
}

Outcome<Done> add_filter(Choice& choice, const char* name, const std::string& text) {
  if (text.empty()) return Problem{"must not be empty"};
  choice.filters.push_back({.name = name, .text = text});
  return Done{};
}

Outcome<Done> add_number_filter(Choice& choice, const char* name, const std::string& text) {
  const auto number = parse_number<std::uint64_t>(text);
  if (number.value_or(0) == 0) return Problem{"must be a number from 1 on"};
  choice.filters.push_back({.name = name, .text = text, .is_number = true});
  return Done{};
}

Outcome<Done> set_seconds(std::uint64_t& to, const std::string& text) {
  const auto seconds = parse_seconds(text);
  if (!seconds) {
    return Problem{"must be a duration in whole seconds, such as 90, 30m, 2h or 7d, and not '" +
                   text + "'"};
  }
  to = *seconds;
  return Done{};
}

Outcome<Done> set_seconds(std::optional<std::uint64_t>& to, const std::string& text) {
  return set_seconds(to.emplace(), text);
}

Outcome<Done> add_age(Choice& choice, const std::string& text) {
  std::uint64_t seconds = 0;
  if (auto set = set_seconds(seconds, text); !set) return set;
  return add_number_filter(choice, "older_than_s", std::to_string(seconds));
}

Outcome<Done> add_time_filter(Choice& choice, const char* name, const std::string& text) {
  const auto time = http::parse_utc_ms(text);
  const auto age = parse_seconds(text);
  if (!time && !age) {
    return Problem{"must be a time such as 2026-11-22T09:59:50Z, or an age such as 30m"};
  }
  if (time) return add_number_filter(choice, name, std::to_string(*time));
  choice.filters.push_back({.name = name, .text = std::to_string(*age), .is_age = true});
  return Done{};
}

Outcome<Done> add_refused(Choice& choice, const std::string& text) {
  bool is_on = false;
  auto done = set(is_on, text);
  if (is_on) choice.filters.push_back({.name = "refused", .text = "1"});
  return done;
}

Outcome<Done> set_rows(Choice& choice, const std::string& text) {
  const auto rows = parse_number<std::uint64_t>(text);
  if (rows.value_or(0) == 0 || *rows > kRowsMax) return Problem{"must be from 1 to 1000000"};
  choice.rows_max = *rows;
  return Done{};
}

Outcome<Done> set_all_rows(Choice& choice, const std::string& text) {
  bool is_on = false;
  auto done = set(is_on, text);
  if (is_on) choice.rows_max = UINT64_MAX;
  return done;
}

Outcome<Done> set_format(Choice& choice, const std::string& text) {
  if (auto checked = check_word(text, kFormatWords); !checked) return checked;
  choice.is_json = text == "json";
  return Done{};
}

Outcome<Done> set_bench_seconds(Choice& choice, const std::string& text) {
  if (auto set = set_seconds(choice.bench.seconds, text); !set) return set;
  if (choice.bench.seconds <= kBenchSecondsMax) return Done{};
  return Problem{"must be at most 1h"};
}

Outcome<Done> set_batch_state(Choice& choice, const std::string& text) {
  if (auto checked = check_word(text, kBatchStateWords); !checked) return checked;
  choice.batch_state = text;
  return Done{};
}

Outcome<Done> set_limit(std::optional<std::uint64_t>& to, std::string_view text,
                        std::uint64_t most) {
  const auto number = parse_number<std::uint64_t>(text);
  if (number.value_or(0) == 0 || *number > most) {
    return Problem{"must be from 1 to " + std::to_string(most)};
  }
  to = number;
  return Done{};
}

Outcome<Done> set_rate(Choice& choice, const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view length = std::string_view(text).substr(std::min(slash + 1, text.size()));
  choice.throttle.rate_s = parse_seconds(length);
  if (!choice.throttle.rate_s)
    return Problem{"must be a number and a duration in whole seconds, such as 100/1m, and not '" +
                   text + "'"};
  return set_limit(choice.throttle.rate_count, std::string_view(text).substr(0, slash), kSlotsMax);
}

Outcome<Done> set_outcome(Choice& choice, const std::string& text) {
  if (auto checked = check_word(text, kOutcomeWords); !checked) return checked;
  choice.outcome = text;
  return Done{};
}

Outcome<Done> set_retry(Choice& choice, const std::string& text) {
  choice.push.retry = parse_number<std::int64_t>(text);
  if (!choice.push.retry || *choice.push.retry < -1) return Problem{"must be a number from -1 on"};
  return Done{};
}

Outcome<Done> set_push_priority(Choice& choice, const std::string& text) {
  constexpr int kMostUrgent = 9;
  choice.push.priority = parse_number<int>(text);
  if (choice.push.priority.value_or(0) < 1 || *choice.push.priority > kMostUrgent) {
    return Problem{"must be from 1 to 9; 9 comes first"};
  }
  return Done{};
}

Outcome<Done> set_job_port(Choice& choice, const std::string& text) {
  auto target = client::parse_target(text);
  if (!target) return target.error();
  choice.job_port = std::move(*target);
  choice.has_job_port = true;
  return Done{};
}

/// As the protocol has it.
Outcome<Done> set_priority(Choice& choice, const std::string& text) {
  const auto number = parse_number<std::uint32_t>(text);
  if (!number) return Problem{"must be from 0 to 4294967295; 0 comes first"};
  choice.put.priority = *number;
  return Done{};
}

template <typename Number>
Outcome<Done> set_number(Number& to, const std::string& text, Number most) {
  const auto number = parse_number<Number>(text);
  if (number.value_or(0) == 0 || *number > most) {
    return Problem{"must be from 1 to " + std::to_string(most)};
  }
  to = *number;
  return Done{};
}

// What a row does in most cases: sets a member of the choice, or of a part of it.
template <auto... path>
Outcome<Done> sets(Choice& choice, const std::string& text) {
  return set((choice.*....*path), text);
}
template <auto... path>
Outcome<Done> sets_seconds(Choice& choice, const std::string& text) {
  return set_seconds((choice.*....*path), text);
}
template <auto... path>
Outcome<Done> sets_limit(Choice& choice, const std::string& text) {
  return set_limit((choice.*....*path), text, kSlotsMax);
}

template <std::size_t size>
struct FilterName {
  constexpr FilterName(const char (&name)[size]) { std::ranges::copy(name, text); }  // NOLINT
  char text[size];
};
template <auto add, FilterName name>
Outcome<Done> adds(Choice& choice, const std::string& text) {
  return add(choice, name.text, text);
}

constexpr std::array kVerbOptions = {
    VerbOption{"url", "URL",
               "Where the server's web port is; the URL may have a user and a password (default: "
               "the host of the variable FAKTORY_URL, or http://127.0.0.1, with port 7420)",
               kServer | kTop, set_url, "MILLRACE_URL"},
    VerbOption{"url", "URL", "The same as a URL as TARGET", kDoctor, set_url},
    VerbOption{"password-file", "FILE",
               "File with the password; without it, MILLRACE_TOKEN has a token, or "
               "MILLRACE_PASSWORD the password",
               kServer | kDoctor | kTop, sets<&Choice::password_file>},
    VerbOption{"ca", "FILE",
               "Certificates to check that of the server with (PEM), instead of the system's",
               kServer | kDoctor | kTop | kJobPort, sets<&Choice::ca_file>},
    VerbOption{"json", nullptr, "Print JSON, as the JSON API has it, instead of text", kServer,
               sets<&Choice::is_json>},
    VerbOption{"json", nullptr, "Print the findings as one document of JSON", kDoctor,
               sets<&Choice::is_json>},
    VerbOption{"json", nullptr, "Print the job's number and its tube as JSON", kPut,
               sets<&Choice::is_json>},
    VerbOption{"json", nullptr, "Without effect: jobs are always printed as JSON", kFetch,
               sets<&Choice::is_json>},
    VerbOption{"json", nullptr, "Print the figures as one document of JSON", kBench,
               sets<&Choice::is_json>},
    VerbOption{"output", "FORMAT", "text, or json (the same as --json)",
               kServer | kDoctor | kPut | kFetch | kBench, set_format, nullptr,
               ValueHint{.words = kFormatWords}, 'o'},
    VerbOption{"watch",
               nullptr,
               "Refresh every 2 seconds until Ctrl-C",
               kWatch,
               sets<&Choice::is_watched>,
               nullptr,
               {},
               'w'},
    VerbOption{"state", "STATES",
               "Jobs in this state: scheduled, ready, retrying or dead; several with commas. With "
               "an ID also reserved",
               kState,
               [](Choice& c, const std::string& text) { return set_states(c, text, kStateWords); },
               nullptr, ValueHint{.words = kMatchedStateWords, .is_list = true}},
    VerbOption{
        "state", "STATES",
        "Jobs in this state: scheduled, ready, retrying or dead; several with commas", kMoveTo,
        [](Choice& c, const std::string& text) { return set_states(c, text, kMatchedStateWords); },
        nullptr, ValueHint{.words = kMatchedStateWords, .is_list = true}},
    VerbOption{"state", "STATE", "Batches in this state: open, running, failed or succeeded",
               kBatches, set_batch_state, nullptr, ValueHint{.words = kBatchStateWords}},
    VerbOption{"queue", "NAME", "Jobs of this queue; with * at the end, its beginning",
               kFilters | kOutcome | kTail | kLocks, adds<add_filter, "queue">, nullptr, kQueueHint,
               'q'},
    VerbOption{"type", "TYPE", "Jobs of this type; with * at the end, its beginning",
               kFilters | kOutcome | kTail | kLocks, adds<add_filter, "type">},
    VerbOption{"error", "TEXT", "Part of the type or message of the error", kFilters,
               adds<add_filter, "error">},
    VerbOption{"query", "QUERY",
               "As in the web UI: 'type:Send* -error:timeout OR attempts>3 failed>1h'", kFilters,
               adds<add_filter, "q">},
    VerbOption{"older-than", "DURATION", "Jobs created at least that long ago: 90, 30m, 2h, 7d",
               kFilters, add_age},
    VerbOption{"since", "TIME",
               "Jobs that failed then or later: 2026-11-22T09:59:50Z, or an age such as 30m",
               kFilters, adds<add_time_filter, "failed_since_ms">},
    VerbOption{"until", "TIME", "Jobs that failed before that", kFilters,
               adds<add_time_filter, "failed_until_ms">},
    VerbOption{"text", "TEXT", "Part of the body", kFilters, adds<add_filter, "text">},
    VerbOption{"arg", "PATH:VALUE",
               "Value in the arguments: user.id:42; several, with blanks between them, must all "
               "be there",
               kFilters, adds<add_filter, "arg">},
    VerbOption{"id", "ID", "The job's number, or the beginning of its jid", kFilters,
               adds<add_filter, "id">},
    VerbOption{"bid", "BID", "Members of this batch", kFilters, adds<add_filter, "bid">},
    VerbOption{"group", "GROUP", "Failures of a group, as `errors` names it", kFilters,
               adds<add_filter, "group">},
    VerbOption{"wid", "WID", "Jobs that this worker holds", kFilters, adds<add_filter, "wid">},
    VerbOption{"client", "N", "Jobs that this beanstalk connection holds", kFilters,
               adds<add_number_filter, "client">},
    VerbOption{"outcome", "OUTCOME",
               "With `completed`: jobs that ended like this: done, dropped, deleted or expired",
               kOutcome, set_outcome, nullptr, ValueHint{.words = kOutcomeWords}},
    VerbOption{"who", "TEXT", "Part of the user or the client", kAudit,
               [](Choice& c, const std::string& text) { return add_filter(c, "who", text); }},
    VerbOption{"from", "TEXT", "Part of the address", kAudit,
               [](Choice& c, const std::string& text) { return add_filter(c, "from", text); }},
    VerbOption{"action", "ACTION", "How the action begins: queues, or queues/pause", kAudit,
               [](Choice& c, const std::string& text) { return add_filter(c, "action", text); }},
    VerbOption{
        "since", "TIME", "Changes made then or later: 2026-11-22T09:59:50Z, or an age such as 30m",
        kAudit,
        [](Choice& c, const std::string& text) { return add_time_filter(c, "since_ms", text); }},
    VerbOption{
        "until", "TIME", "Changes made before that", kAudit,
        [](Choice& c, const std::string& text) { return add_time_filter(c, "until_ms", text); }},
    VerbOption{"text", "TEXT", "Part of any text", kAudit,
               [](Choice& c, const std::string& text) { return add_filter(c, "text", text); }},
    VerbOption{"refused", nullptr, "Refused attempts only", kAudit, add_refused},
    VerbOption{"ndjson", nullptr, "Print all that match, a line of JSON each", kAudit,
               sets<&Choice::are_lines>},
    VerbOption{"limit", "N", "At most so many rows (default: 50)", kRows, set_rows},
    VerbOption{"all", nullptr, "Show all rows", kRows, set_all_rows},
    VerbOption{"full", nullptr, "Show complete arguments and bodies", kList,
               sets<&Choice::is_full>},
    VerbOption{"reverse", nullptr, "The last jobs of the order first", kList,
               sets<&Choice::is_reversed>},
    VerbOption{"match", "TEXT", "Queues whose names have this part", kMatch, sets<&Choice::match>},
    VerbOption{"names", nullptr, "Print the names alone, one a line", kMatch,
               sets<&Choice::are_names>},
    VerbOption{"to", "QUEUE", "The queue to move the jobs to", kMoveTo, sets<&Choice::to>, nullptr,
               kQueueHint},
    VerbOption{"to", "FILE", "A new file, or - for stdout", kExport, sets<&Choice::to>},
    VerbOption{"dry-run", nullptr, "Only count the jobs", kChange, sets<&Choice::is_dry>},
    VerbOption{"yes", nullptr, "Change the jobs that match, not only count them", kDangerous,
               sets<&Choice::is_agreed>},
    VerbOption{"yes", nullptr, "Delete; without it, only show what would be deleted", kAgreed,
               sets<&Choice::is_agreed>},
    VerbOption{"all", nullptr, "All workers, instead of one WID", kWorkers,
               sets<&Choice::is_for_all>},
    VerbOption{"spread", "DURATION",
               "Make retrying and dead jobs ready gradually over this time, such as 10m", kSpread,
               sets_seconds<&Choice::spread_s>},
    VerbOption{"for", "DURATION", "How long: 90, 30m, 2h, 7d (default: until it is resumed)",
               kPause, sets_seconds<&Choice::pause_s>},
    VerbOption{"queue", "NAME", "The queue (default: default)", kPush,
               sets<&Choice::push, &PushChoice::queue>, nullptr, kQueueHint, 'q'},
    VerbOption{"jid", "JID", "The job's jid (default: a new one)", kPush,
               sets<&Choice::push, &PushChoice::jid>},
    VerbOption{"at", "TIME", "Not before this time (RFC 3339), or after a time such as +30m", kPush,
               sets<&Choice::push, &PushChoice::at>},
    VerbOption{
        "retry", "N",
        "Retries before the job is dead; after a failure, 0 drops it, and -1 makes it dead at once",
        kPush, set_retry},
    VerbOption{"reserve-for", "DURATION", "How long a worker may take", kPush,
               sets_seconds<&Choice::push, &PushChoice::reserve_for_s>},
    VerbOption{"priority", "N", "1 to 9; 9 comes first (default: 5)", kPush, set_push_priority},
    VerbOption{"custom", "JSON", "The member `custom`, an object", kPush,
               sets<&Choice::push, &PushChoice::custom>},
    VerbOption{
        "address", "ADDR",
        "Where the beanstalk port is: HOST:PORT, tls://HOST:PORT or unix:PATH (default: "
        "port 11300 of the host in MILLRACE_URL or FAKTORY_URL, if that has a usual port, or "
        "of 127.0.0.1)",
        kJobPort, set_job_port, "BEANSTALKD_URL"},
    VerbOption{"tube", "NAME", "The tube (default: default)", kPut,
               sets<&Choice::put, &PutChoice::tube>, nullptr, kQueueHint, 'q'},
    VerbOption{"lines", nullptr, "Put each non-empty line of stdin as a job", kPut,
               sets<&Choice::put, &PutChoice::are_lines>},
    VerbOption{"priority", "N", "0 comes first (default: 1024, as pushed jobs have)", kPut,
               set_priority},
    VerbOption{"delay", "DURATION", "Not before that time has passed: 90, 30m, 2h, 7d", kPut,
               sets_seconds<&Choice::put, &PutChoice::delay_s>},
    VerbOption{"ttr", "DURATION", "How long a worker may take (default: 60)", kPut,
               sets_seconds<&Choice::put, &PutChoice::ttr_s>},
    VerbOption{"jobs", "N", "At most so many jobs (default: 1)", kFetch,
               [](Choice& c, const std::string& text) {
                 return set_number(c.fetch.jobs_max, text, kRowsMax);
               }},
    VerbOption{"wait", "DURATION", "Wait that long for jobs: 90, 30m (default: not at all)", kFetch,
               sets_seconds<&Choice::fetch, &FetchChoice::wait_s>},
    VerbOption{"delete", nullptr, "Delete each job once it is printed", kFetch,
               sets<&Choice::fetch, &FetchChoice::deletes>},
    VerbOption{"concurrency", "N", "With `set`: jobs of the queue that run at a time", kThrottles,
               sets_limit<&Choice::throttle, &ThrottleChoice::concurrency>},
    VerbOption{"worker", "N", "With `set`: the same for one worker", kThrottles,
               sets_limit<&Choice::throttle, &ThrottleChoice::worker>},
    VerbOption{"per-key", "N", "With `set`: the same for the jobs of each throttle_key", kThrottles,
               sets_limit<&Choice::throttle, &ThrottleChoice::per_key>},
    VerbOption{"timeout", "DURATION",
               "With the three above: a job that runs for longer no longer counts", kThrottles,
               sets_seconds<&Choice::throttle, &ThrottleChoice::timeout_s>},
    VerbOption{"rate", "N/DURATION", "With `set`: jobs that may begin in a time, such as 100/1m",
               kThrottles, set_rate},
    VerbOption{"unlimited", nullptr, "With `set`: no limits, whatever the config file says",
               kThrottles, sets<&Choice::throttle, &ThrottleChoice::is_unlimited>},
    VerbOption{"may", "RIGHTS",
               "With `new`: push, work, view, operate or admin; several with commas", kTokens,
               [](Choice& c, const std::string& text) {
                 return set_words(c.token.may, text, kRightWords);
               },
               nullptr, ValueHint{.words = kRightWords, .is_list = true}},
    VerbOption{
        "queues", "PATTERNS",
        "With `new`: for these queues, such as 'mail*'; several with commas (default: all)",
        kTokens,
        [](Choice& c, const std::string& text) { return set_words(c.token.queues, text, {}); },
        nullptr, kQueueHint},
    VerbOption{"expires", "DURATION", "With `new`: how long it is valid, 1m to 366d, such as 30d",
               kTokens, sets_seconds<&Choice::token, &TokenChoice::expires_s>},
    VerbOption{"demo", nullptr, "With clients and workers of both protocols, whose jobs also fail",
               kDev, sets<&Choice::dev, &DevChoice::has_demo>},
    VerbOption{"no-open", nullptr, "Only print the address of the pages", kDev,
               [](Choice& c, const std::string& text) {
                 auto done = set(c.dev.opens_pages, text);
                 c.dev.opens_pages = !c.dev.opens_pages;
                 return done;
               }},
    VerbOption{"seconds", "DURATION", "How long to measure each row (default: 3)", kBench,
               set_bench_seconds},
    VerbOption{"connections", "N", "How many clients at a time (default: 50)", kBench,
               [](Choice& c, const std::string& text) {
                 return set_number(c.bench.connections, text, kBenchConnectionsMax);
               }},
};

}  // namespace

std::span<const VerbOption> verb_options() {
  return kVerbOptions;
}

}  // namespace millrace::cli
