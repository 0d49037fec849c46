#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "cli/exit.hpp"
#include "cli/job_port.hpp"
#include "cli/members.hpp"
#include "cli/named_job.hpp"
#include "cli/show/console.hpp"
#include "cli/show/times.hpp"
#include "cli/verbs/verbs.hpp"
#include "client/beanstalk.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

/// Whether stdin is worth reading where nobody said so. kSilent: an open pipe on which nothing has
/// come for a while, such as one that was inherited from a service and is never used.
enum class StdinState { kEmpty, kReadable, kSilent };

/// Longer than any job.
constexpr std::size_t kInputBytesMax = std::size_t{1} << 30;

/// What writes to a pipe begins within this time, or is asked for with `-`.
constexpr int kSilenceSeconds = 5;

Reply<std::string> read_all(std::FILE* file, const std::string& what) {
  constexpr std::size_t kPartBytes = 64 * 1024;
  std::string all;
  std::size_t got = 0;
  do {
    const std::size_t before = all.size();
    all.resize(before + kPartBytes);
    got = std::fread(all.data() + before, 1, kPartBytes, file);
    all.resize(before + got);
    if (all.size() > kInputBytesMax)
      return Failure{.text = "the " + what + " is longer than any job"};
  } while (got > 0);
  // A part of it must not be taken for the whole.
  if (std::ferror(file) != 0) {
    return Failure{.text = "the " + what + " cannot be read: " + std::strerror(errno)};
  }
  return all;
}

/// All of stdin, to its end and without a change. `what` it is stands in messages: `body`.
Reply<std::string> read_stdin(Console& console, const std::string& what) {
  if (::isatty(STDIN_FILENO) == 1)
    console.complain("type the " + what + ", and end it with Ctrl-D");
  return read_all(stdin, what);
}

/// The same of a file.
Reply<std::string> read_file(const std::string& path, const std::string& what) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (!file) {
    return Failure{.exit = Exit::kUsage, .text = path + ": " + std::strerror(errno)};
  }
  return read_all(file.get(), what);
}

StdinState look_at_stdin() {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return StdinState::kEmpty;
  struct stat null {};
  const bool is_null =
      ::stat("/dev/null", &null) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == null.st_rdev;
  if (is_null || ::isatty(STDIN_FILENO) == 1) return StdinState::kEmpty;
  // Reading anything else says by itself what is wrong with it.
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return StdinState::kReadable;
  fd_set input;
  FD_ZERO(&input);
  FD_SET(STDIN_FILENO, &input);
  timeval patience{.tv_sec = kSilenceSeconds, .tv_usec = 0};
  const bool has_come = ::select(STDIN_FILENO + 1, &input, nullptr, nullptr, &patience) > 0;
  return has_come ? StdinState::kReadable : StdinState::kSilent;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Failure usage(std::string text) {
  return Failure{.exit = Exit::kUsage, .text = std::move(text)};
}

/// A time after now is one of the server's clock.
Reply<std::string> time_of(Session& session, const std::string& text) {
  // Which times there are, the server knows.
  if (!text.empty() && is_digit(text.front()) && text.find('T') != text.npos) return text;
  const auto seconds =
      text.starts_with('+') ? parse_seconds(std::string_view(text).substr(1)) : std::nullopt;
  if (!seconds) {
    return usage(
        "--at must be a time such as 2026-12-24T18:00:00Z, or a duration in "
        "whole seconds such as +30m");
  }
  const Reply<Answer> answer = session.api.get("overview");
  if (!answer) return answer.error();
  return show_time_ms(answer->now_ms + static_cast<std::int64_t>(*seconds) * 1000);
}

/// How many digits of a row the outline keeps: as many as tell 0 from 01, and fit every number.
constexpr std::size_t kOutlineDigits = 2;

bool has_escape_of_four(std::string_view text) {
  constexpr std::size_t kEscapeBytes = 6;
  return text.size() >= kEscapeBytes && text.starts_with("\\u") &&
         std::ranges::all_of(text.substr(2, 4), is_hex_digit);
}

/// The text with its numbers and strings made short. It is JSON when the text is. A parser refuses
/// numbers that fit no double, and halves of a surrogate pair. Servers take both, and so do we.
std::string outline_of(std::string_view json) {
  std::string out;
  bool is_string = false;
  std::size_t digits = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (is_string && has_escape_of_four(json.substr(at))) {
      out += 'u';
      at += 5;
      continue;
    }
    if (is_string && c == '\\' && at + 1 < json.size()) {
      out.append(json.substr(at, 2));
      ++at;
      continue;
    }
    if (is_string && static_cast<unsigned char>(c) > 0x7F) {
      out += 'u';
      continue;
    }
    if (c == '"') is_string = !is_string;
    digits = !is_string && is_digit(c) ? digits + 1 : 0;
    if (digits <= kOutlineDigits) out += c;
  }
  return out;
}

/// Why the text is not the JSON that is wanted: goes after `must be ..., but `.
std::string fault_of(std::string_view text) {
  const Json outline = Json::parse(outline_of(text), nullptr, false);
  if (!outline.is_discarded()) return http::concat("is of type ", outline.type_name());
  try {
    const Json whole = Json::parse(text);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size()) return "is incomplete";
    return http::concat("is invalid at byte ", error.byte);
  } catch (const Json::exception&) {
    // A number before the fault fits no double.
  }
  return "is invalid";
}

bool is_array(std::string_view text) {
  return Json::parse(outline_of(text), nullptr, false).is_array();
}

bool is_object(std::string_view text) {
  return Json::parse(outline_of(text), nullptr, false).is_object();
}

/// Faktory clients can name no other queues.
bool is_of_queue_name(char c) {
  return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
}

/// By name, each as JSON.
using Members = std::vector<std::pair<const char*, std::string>>;

/// The members that the command line has. `custom` is sent as it was typed: so large numbers keep
/// their digits.
Reply<Members> members_of(Session& session, const std::string& type) {
  const PushChoice& push = session.choice.push;
  Members members;
  const auto add = [&members](const char* name, std::string value) {
    members.emplace_back(name, std::move(value));
  };
  if (!type.empty()) add("jobtype", quoted(type));
  if (!std::ranges::all_of(push.queue, is_of_queue_name)) {
    return usage("--queue may contain only letters, digits and . _ -, but it is " +
                 quoted(push.queue));
  }
  if (!push.queue.empty()) add("queue", quoted(push.queue));
  if (!push.jid.empty()) add("jid", quoted(push.jid));
  if (push.retry) add("retry", std::to_string(*push.retry));
  if (push.reserve_for_s) add("reserve_for", std::to_string(*push.reserve_for_s));
  if (push.priority) add("priority", std::to_string(*push.priority));
  if (!push.at.empty()) {
    const Reply<std::string> time = time_of(session, push.at);
    if (!time) return time.error();
    add("at", quoted(*time));
  }
  if (!push.custom.empty()) {
    if (!is_object(push.custom)) {
      return usage("--custom must be a JSON object such as '{\"a\": 1}', but it " +
                   fault_of(push.custom));
    }
    add("custom", push.custom);
  }
  return members;
}

bool is_source(const std::string& word) {
  return word == "-" || word.starts_with('@');
}

/// Windows programs begin a text with a byte order mark.
void drop_mark(std::string& text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
}

/// The text of that source: arguments or jobs, one a line.
Reply<std::string> read_source(Session& session, const std::string& source) {
  Reply<std::string> text =
      source == "-" ? read_stdin(session.console, "input") : read_file(source.substr(1), "input");
  if (text) drop_mark(*text);
  if (text && trimmed(*text).empty()) {
    return usage("there is nothing " + (source == "-" ? "on stdin" : "in " + source.substr(1)));
  }
  return text;
}

/// Where the command line has no arguments, they may come on stdin.
Reply<std::string> read_what_comes(Session& session) {
  switch (look_at_stdin()) {
    case StdinState::kEmpty:
      break;
    case StdinState::kSilent:
      return usage("nothing comes on stdin; give ARGS, such as '[]', or - to wait for them");
    case StdinState::kReadable: {
      Reply<std::string> text = read_stdin(session.console, "input");
      if (text) drop_mark(*text);
      if (!text || !trimmed(*text).empty()) return text;
      break;
    }
  }
  return std::string("[]");
}

/// Arguments, or a job, and where the input has them.
struct Item {
  std::string text;
  std::string place;         ///< such as `line 3: `; empty: it is all of the input
  bool has_members = false;  ///< of its own, which nobody has checked
};

/// The server would replace bytes that are not UTF-8, as it does for PUSH.
std::optional<Problem> find_broken_line(std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    if (!is_utf8(take_line(text))) return Problem{"line " + std::to_string(line) + ": not UTF-8"};
  }
  return std::nullopt;
}

/// One job for each line, or a single one that takes several.
Outcome<std::vector<Item>> items_of(std::string_view text) {
  if (auto problem = find_broken_line(text)) return *problem;
  if (const auto all = trimmed(text); is_array(all) || is_object(all)) {
    return std::vector{Item{.text = std::string(all), .place = {}}};
  }
  std::vector<Item> items;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view item = trimmed(take_line(text));
    if (item.empty()) continue;
    std::string place = "line " + std::to_string(line) + ": ";
    if (!is_array(item) && !is_object(item)) {
      return Problem{place + "must be a JSON array of arguments or a JSON object, but it " +
                     fault_of(item)};
    }
    items.push_back({.text = std::string(item), .place = std::move(place)});
  }
  return items;
}

/// What an item that is an object says itself wins over the command line.
std::string job_of(std::string_view item, const Members& members) {
  const bool is_job = item.front() == '{';
  const Json own = is_job ? Json::parse(outline_of(item), nullptr, false) : Json::object();
  std::string job = "{";
  for (const auto& [name, value] : members) {
    if (!own.contains(name)) job += http::concat(job.size() > 1 ? ",\"" : "\"", name, "\":", value);
  }
  const std::string_view rest = is_job ? trimmed(item.substr(1, item.size() - 2)) : item;
  if (job.size() > 1 && !rest.empty()) job += ',';
  return job + (is_job ? "" : "\"args\":") + std::string(rest) + '}';
}

/// The items become jobs.
Reply<std::vector<Item>> jobs_of(Session& session) {
  const std::vector<std::string>& words = session.choice.words;
  const bool has_args = words.size() > 1;
  // Without a type, each job has its own.
  const bool has_type = has_args || !is_source(words.front());
  const std::string& source = has_type && has_args ? words[1] : words.front();
  const bool is_typed = has_args && !is_source(source);
  const std::string_view first = trimmed(words.front());
  if (!has_args && (first.starts_with('[') || first.starts_with('{'))) {
    return usage("TYPE must be a jobtype, but it looks like JSON; write push TYPE '[1, \"a\"]'");
  }
  if (is_typed && !is_array(source)) {
    return usage("ARGS must be a JSON array such as '[1, \"a\"]', @FILE or -, but it " +
                 fault_of(source));
  }
  const Reply<std::string> text = is_typed                ? Reply<std::string>(source)
                                  : has_type && !has_args ? read_what_comes(session)
                                                          : read_source(session, source);
  if (!text) return text.error();
  Outcome<std::vector<Item>> items = items_of(*text);
  if (!items) return usage(items.error().text);
  if (items->size() > 1 && !session.choice.push.jid.empty()) {
    return usage("--jid is for one job, and the input has " + std::to_string(items->size()));
  }
  const Reply<Members> members = members_of(session, has_type ? words.front() : "");
  if (!members) return members.error();
  for (Item& item : *items) {
    if (!has_type && item.text.front() == '[') {
      return usage(item.place + "without TYPE there must be jobs: JSON objects with a jobtype");
    }
    item.has_members = item.text.front() == '{';
    item.text = job_of(item.text, *members);
  }
  return *std::move(items);
}

Failure explained(Failure failure, const Item& job) {
  constexpr int kTooLarge = 413;
  if (failure.status == kTooLarge) failure.text += "; see --max-job-size of the server";
  failure.text = job.place + failure.text;
  return failure;
}

/// Of several jobs none is pushed if one would be refused. A push ignores some wrong members.
Reply<Done> check_jobs(Session& session, const std::vector<Item>& jobs) {
  if (jobs.size() == 1 && !jobs.front().has_members) return Done{};
  for (const Item& job : jobs) {
    const Reply<Answer> answer = session.api.post("jobs/check", job.text);
    if (!answer) return explained(answer.error(), job);
  }
  return Done{};
}

/// What `put` puts: one body, or with --lines one for each line that is not empty.
Reply<std::vector<std::string>> bodies_of(Session& session) {
  const std::vector<std::string>& words = session.choice.words;
  const bool is_given = !words.empty() && words.front() != "-";
  const bool are_lines = session.choice.put.are_lines;
  if (is_given && are_lines) return usage("--lines reads stdin; omit BODY");
  const Reply<std::string> text =
      is_given ? Reply<std::string>(words.front()) : read_stdin(session.console, "body");
  if (!text) return text.error();
  if (!are_lines) return std::vector{*text};
  std::vector<std::string> bodies;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (!line.empty()) bodies.emplace_back(line);
  }
  if (bodies.empty()) return usage("there is nothing on stdin");
  return bodies;
}

/// What is wrong with a job to be put; null: nothing is.
const char* problem_of_put(const Item& item) {
  const Json job = Json::parse(item.text, nullptr, false);
  const Json& tube = member(job, "tube");
  const bool is_name = tube.is_string() && !tube.get_ref<const std::string&>().empty() &&
                       std::ranges::all_of(tube.get_ref<const std::string&>(),
                                           [](char c) { return c > ' ' && c <= '~'; });
  if (!is_name) return "tube must be the name of a tube";
  for (const char* const name : {"priority", "ttr"}) {
    const Json& number = member(job, name);
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() > UINT32_MAX) {
      return "priority and ttr must be whole numbers below 2^32";
    }
  }
  const Json& text = member(job, "body");
  const Json& encoded = member(job, "body_base64");
  if (text.is_string() == encoded.is_string()) return "body or body_base64 must be a text";
  if (encoded.is_string() && !from_base64(encoded.get_ref<const std::string&>())) {
    return "body_base64 is not base64";
  }
  const bool is_due = job.contains("at");
  return is_due && !parse_time_ms(text_at(job, "at")) ? "at must be a time" : nullptr;
}

/// The lines of a file of `export`. None is taken if one would be refused.
Reply<std::vector<Item>> imported_items(Session& session, std::string_view text) {
  Outcome<std::vector<Item>> items = items_of(text);
  if (!items) return usage(items.error().text);
  for (Item& item : *items) {
    const Json outline = Json::parse(outline_of(item.text), nullptr, false);
    if (!outline.is_object() || outline.contains("jobtype") == outline.contains("tube")) {
      return usage(item.place + "must be an object with a jobtype or a tube, as export writes it");
    }
    item.has_members = outline.contains("jobtype");
    if (const char* const wrong = item.has_members ? nullptr : problem_of_put(item)) {
      return usage(item.place + wrong);
    }
    if (!item.has_members) continue;
    const Reply<Answer> checked = session.api.post("jobs/check", item.text);
    if (!checked) return explained(checked.error(), item);
  }
  return *std::move(items);
}

/// Whether a pushed job lives, or has been done. One that was deleted may come back.
Reply<bool> is_known(Session& session, const std::string& jid) {
  if (jid.empty()) return false;
  const Reply<Answer> all = session.api.get("jids/" + path_part(jid));
  if (!all && all.error().status == kNotFound) return false;
  if (!all) return all.error();
  const Json& finished = member(all->json, "finished");
  return !member(all->json, "jobs").empty() || std::ranges::any_of(finished, [](const Json& job) {
    return text_at(job, "outcome") == "done";
  });
}

/// One run of `import`.
struct Import {
  Session& session;
  std::optional<client::Beanstalk> tubes = {};
  std::int64_t now_ms = 0;  ///< of the server, when `tubes` was opened
  std::uint64_t pushed = 0;
  std::uint64_t put = 0;
  std::uint64_t skipped = 0;

  Reply<Done> take(const Item& item) {
    return item.has_members ? push_one(item) : put_one(Json::parse(item.text, nullptr, false));
  }

  Reply<Done> push_one(const Item& item) {
    const Json outline = Json::parse(outline_of(item.text), nullptr, false);
    const Reply<bool> is_there = is_known(session, text_at(outline, "jid"));
    if (!is_there) return is_there.error();
    ++(*is_there ? skipped : pushed);
    if (*is_there) return Done{};
    const Reply<Answer> answer = session.api.post("jobs", item.text);
    if (answer) return Done{};
    --pushed;
    if (answer.error().exit != Exit::kNotUnique) return answer.error();
    ++skipped;
    return Done{};
  }

  /// Before the first job is put.
  Reply<Done> open_tubes() {
    auto connected = connect_to_job_port(session.choice);
    if (!connected) return failure_of(connected.error());
    tubes.emplace(std::move(*connected));
    const Reply<Answer> answer = session.api.get("overview");
    if (!answer) return answer.error();
    now_ms = answer->now_ms;
    return Done{};
  }

  Reply<Done> put_one(const Json& job) {
    const std::string bytes = from_base64(text_at(job, "body_base64")).value_or("");
    const auto due = parse_time_ms(text_at(job, "at"));
    const std::int64_t wait_ms = due ? *due - now_ms : 0;
    if (auto used = tubes->use(text_at(job, "tube")); !used) return failure_of(used.error());
    const auto id =
        tubes->put({.body = text_at(job, "body") + bytes,
                    .priority = static_cast<std::uint32_t>(count_at(job, "priority")),
                    .delay_s = wait_ms > 0 ? (static_cast<std::uint64_t>(wait_ms) + 999) / 1000 : 0,
                    .ttr_s = count_at(job, "ttr")});
    if (!id) return failure_of(id.error());
    ++put;
    return Done{};
  }

  [[nodiscard]] std::string report() const {
    return http::count_of(pushed, "job") + " pushed, " + http::grouped(put) + " put, " +
           http::grouped(skipped) + " there already";
  }
};

}  // namespace

Exit push_job(Session& session) {
  const Reply<std::vector<Item>> jobs = jobs_of(session);
  if (!jobs) return session.fail(jobs.error());
  if (const Reply<Done> checked = check_jobs(session, *jobs); !checked) {
    return session.fail(checked.error());
  }
  Exit exit = Exit::kDone;
  for (std::size_t at = 0; at < jobs->size(); ++at) {
    const Reply<Answer> answer = session.api.post("jobs", (*jobs)[at].text);
    if (answer) {
      if (const Exit shown = show_pushed(session, answer->json); shown != Exit::kDone) return shown;
      continue;
    }
    exit = session.fail(explained(answer.error(), (*jobs)[at]));
    // The next ones may be new.
    if (exit != Exit::kNotUnique) {
      if (at > 0) session.console.complain("the " + std::to_string(at) + " before it were pushed");
      return exit;
    }
  }
  return exit;
}

Exit show_pushed(Session& session, const Json& pushed) {
  const std::string state = text_at(pushed, "state");
  return session.print_done(state.empty() ? "has ended" : state,
                            "job " + text_at(pushed, "id") + ", jid " + text_at(pushed, "jid"),
                            pushed);
}

Exit import_jobs(Session& session) {
  const std::string& source = session.choice.words.front();
  const Reply<std::string> text = read_source(session, source == "-" ? source : "@" + source);
  if (!text) return session.fail(text.error());
  Reply<std::vector<Item>> items = imported_items(session, *text);
  if (!items) return session.fail(items.error());
  Import done{.session = session};
  const bool puts = !std::ranges::all_of(*items, &Item::has_members);
  if (puts) {
    if (const Reply<Done> opened = done.open_tubes(); !opened) return session.fail(opened.error());
  }
  for (std::size_t at = 0; at < items->size(); ++at) {
    const Reply<Done> taken = done.take((*items)[at]);
    if (taken) continue;
    Failure failure = explained(taken.error(), (*items)[at]);
    failure.text += "; of the lines before it, " + done.report();
    return session.fail(failure);
  }
  return session.print_done(
      "imported", done.report(),
      {{"pushed", done.pushed}, {"put", done.put}, {"skipped", done.skipped}});
}

Exit put_job(Session& session) {
  const PutChoice& put = session.choice.put;
  const Reply<std::vector<std::string>> bodies = bodies_of(session);
  if (!bodies) return session.fail(bodies.error());
  auto client = connect_to_job_port(session.choice);
  if (!client) return session.fail(failure_of(client.error()));
  if (auto used = client->use(put.tube); !used) return session.fail(failure_of(used.error()));
  for (std::size_t at = 0; at < bodies->size(); ++at) {
    const auto id = client->put({.body = (*bodies)[at],
                                 .priority = put.priority,
                                 .delay_s = put.delay_s,
                                 .ttr_s = put.ttr_s});
    if (!id) {
      Failure failure = failure_of(id.error());
      if (!id.error().is_refusal) failure.text += "; it is unknown whether the job was put";
      if (at > 0) failure.text += "; jobs put before it: " + std::to_string(at);
      return session.fail(failure);
    }
    const Exit shown =
        session.print_done("put", "job " + std::to_string(*id) + ", tube " + put.tube,
                           {{"id", *id}, {"tube", put.tube}});
    if (shown != Exit::kDone) return shown;
  }
  return Exit::kDone;
}

}  // namespace millrace::cli
