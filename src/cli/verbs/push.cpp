#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/show/times.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A time after now is one of the server's clock.
Reply<std::string> time_of(Session& session, const std::string& text) {
  // Which times there are, the server knows.
  if (!text.empty() && is_digit(text.front()) && text.find('T') != text.npos) return text;
  const auto seconds =
      text.starts_with('+') ? parse_seconds(std::string_view(text).substr(1)) : std::nullopt;
  if (!seconds) {
    return Failure{.exit = Exit::kUsage,
                   .text =
                       "--at must be a time such as 2026-12-24T18:00:00Z, or a duration such "
                       "as +30m"};
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
/// numbers that fit no double, halves of a surrogate pair, and bytes that are not UTF-8. Servers
/// take all that, and so do we.
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

bool is_array(const std::string& text) {
  return Json::parse(outline_of(text), nullptr, false).is_array();
}

bool is_object(const std::string& text) {
  return Json::parse(outline_of(text), nullptr, false).is_object();
}

/// Arguments and `custom` are sent as they were typed: so large numbers keep their digits.
Reply<std::string> job_of(Session& session) {
  const Choice& choice = session.choice;
  const PushChoice& push = choice.push;
  const std::string args = choice.words.size() > 1 ? choice.words[1] : "[]";
  if (!is_array(args)) {
    return Failure{.exit = Exit::kUsage, .text = "ARGS must be a JSON array, such as '[1, \"a\"]'"};
  }
  std::string job = "{\"jobtype\":" + quoted(choice.words.front()) + ",\"args\":" + args;
  if (!push.queue.empty()) job += ",\"queue\":" + quoted(push.queue);
  if (!push.jid.empty()) job += ",\"jid\":" + quoted(push.jid);
  if (push.retry) job += ",\"retry\":" + std::to_string(*push.retry);
  if (push.reserve_for_s) job += ",\"reserve_for\":" + std::to_string(*push.reserve_for_s);
  if (!push.at.empty()) {
    const Reply<std::string> time = time_of(session, push.at);
    if (!time) return time.error();
    job += ",\"at\":" + quoted(*time);
  }
  if (!push.custom.empty()) {
    if (!is_object(push.custom)) {
      return Failure{.exit = Exit::kUsage, .text = "--custom must be a JSON object"};
    }
    job += ",\"custom\":" + push.custom;
  }
  return job + "}";
}

}  // namespace

Exit push_job(Session& session) {
  const Reply<std::string> job = job_of(session);
  if (!job) return session.fail(job.error());
  const Reply<Answer> answer = session.api.post("jobs", *job);
  if (!answer) {
    Failure failure = answer.error();
    constexpr int kTooLarge = 413;
    if (failure.status == kTooLarge) failure.text += "; see --max-job-size of the server";
    return session.fail(failure);
  }
  return show_pushed(session, answer->json);
}

Exit show_pushed(Session& session, const Json& pushed) {
  const std::string state = text_at(pushed, "state");
  return session.print_done(state.empty() ? "has ended" : state,
                            "job " + text_at(pushed, "id") + ", jid " + text_at(pushed, "jid"),
                            pushed);
}

}  // namespace millrace::cli
