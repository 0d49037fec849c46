#include "http/routes/job_query.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

/// How a value is written.
enum class Kind { kText, kNumber, kAge, kMoment };

/// What a name means with a sign. `member` is that of the API, for the checks of texts.
struct Meaning {
  std::string_view name;
  char sign;
  Kind kind;
  const char* member = "";
  JobFilter::Text JobFilter::*text = nullptr;
  JobFilter::Number JobFilter::*number = nullptr;
};

constexpr std::array kMeanings = {
    Meaning{"queue", ':', Kind::kText, "queue", &JobFilter::queue},
    Meaning{"type", ':', Kind::kText, "type", &JobFilter::type},
    Meaning{"job", ':', Kind::kText, "id", &JobFilter::id},
    Meaning{"error", ':', Kind::kText, "error", &JobFilter::error},
    Meaning{"text", ':', Kind::kText, "text", &JobFilter::text},
    Meaning{"batch", ':', Kind::kText, "bid", &JobFilter::bid},
    Meaning{"group", ':', Kind::kText, "group", &JobFilter::group},
    Meaning{"worker", ':', Kind::kText, "wid", &JobFilter::wid},
    Meaning{"connection", ':', Kind::kNumber, "", nullptr, &JobFilter::client},
    Meaning{"age", '>', Kind::kAge, "", nullptr, &JobFilter::older_than_s},
    Meaning{"age", '<', Kind::kAge, "", nullptr, &JobFilter::younger_than_s},
    Meaning{"attempts", '>', Kind::kNumber, "", nullptr, &JobFilter::attempts_over},
    Meaning{"attempts", '<', Kind::kNumber, "", nullptr, &JobFilter::attempts_under},
    Meaning{"failed", '>', Kind::kAge, "", nullptr, &JobFilter::failed_before_s},
    Meaning{"failed", '<', Kind::kAge, "", nullptr, &JobFilter::failed_within_s},
    Meaning{"failed", '>', Kind::kMoment, "", nullptr, &JobFilter::failed_since_ms},
    Meaning{"failed", '<', Kind::kMoment, "", nullptr, &JobFilter::failed_until_ms},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSameNames = {
    {{"id", "job"}, {"jid", "job"}, {"bid", "batch"}, {"wid", "worker"}}};

/// Up to the next blank outside of quotes; `text` becomes what follows it.
std::string_view take_token(std::string_view& text) {
  bool is_quoted = false;
  std::size_t end = 0;
  for (; end < text.size() && (is_quoted || text[end] != ' '); ++end) {
    if (is_quoted && text[end] == '\\')
      ++end;
    else if (text[end] == '"')
      is_quoted = !is_quoted;
  }
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end, text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return token;
}

/// Without its quotes; nullopt: they do not end at its end.
std::optional<std::string> unquoted(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  std::string text;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '"') return i + 1 == value.size() ? std::optional(text) : std::nullopt;
    if (value[i] == '\\' && ++i == value.size()) break;
    text += value[i];
  }
  return std::nullopt;
}

Outcome<JobFilter> text_filter(const char* member, JobFilter::Text JobFilter::*to,
                               std::string text) {
  if (auto problem = check_filter_member(member, text)) return *std::move(problem);
  JobFilter filter;
  filter.*to = std::move(text);
  return filter;
}

std::optional<std::uint64_t> read_number(Kind kind, std::string_view value) {
  switch (kind) {
    case Kind::kText:
      return std::nullopt;
    case Kind::kNumber:
      return parse_number<std::uint64_t>(value);
    case Kind::kAge:
      if (const auto age = parse_whole<std::chrono::seconds>(value)) return age->count();
      return std::nullopt;
    case Kind::kMoment:
      return parse_utc_ms(value);
  }
  return std::nullopt;
}

Problem wrong_value(std::string_view name, Kind kind) {
  if (kind == Kind::kNumber) return Problem{concat(name, " takes a number, such as 3")};
  return Problem{concat(name, " takes a duration such as 90s, 30m, 2h or 7d",
                        kind == Kind::kMoment ? ", or a time such as 2026-11-26T10:05:00Z" : "")};
}

/// `name`, the sign and `value` are parts of `token`.
Outcome<JobFilter> read_named(std::string_view token, std::string_view name, char sign,
                              const std::string& value) {
  const auto* const same =
      std::ranges::find(kSameNames, name, [](auto& each) { return each.first; });
  if (same != kSameNames.end()) name = same->second;
  Problem problem{concat("there is no filter \"", cut(token, 60), "\"")};
  if (name == "state") problem.text = "state is not part of the query: use the parameter state";
  for (const Meaning& each : kMeanings) {
    if (each.name != name) continue;
    if (each.sign != sign) {
      if (problem.text.starts_with("there is no"))
        problem.text = concat("write ", name, std::string_view(&each.sign, 1), " and a value");
      continue;
    }
    if (each.text != nullptr) return text_filter(each.member, each.text, value);
    if (const auto number = read_number(each.kind, value)) {
      JobFilter filter;
      filter.*each.number = *number;
      return filter;
    }
    problem = wrong_value(token.substr(0, name.size() + 1), each.kind);
  }
  return problem;
}

Outcome<JobFilter> read_term(std::string_view token) {
  const std::size_t at = token.find_first_of("\":<>.");
  const bool is_named = at != std::string_view::npos && at > 0 && token[at] != '"';
  if (is_named && token[at] == '.' && (token.starts_with("args.") || token.starts_with("arg."))) {
    return text_filter("arg", &JobFilter::arg, std::string(token.substr(at + 1)));
  }
  // The names of types may have `::`.
  const bool is_word = !is_named || token[at] == '.' || token.substr(at).starts_with("::");
  const auto value = unquoted(is_word ? token : token.substr(at + 1));
  if (!value) return Problem{concat("a quote does not end: ", cut(token, 60))};
  if (is_word) return text_filter("text", &JobFilter::text, *value);
  return read_named(token, token.substr(0, at), token[at], *value);
}

}  // namespace

Outcome<JobQuery> parse_query(std::string_view text) {
  JobQuery query(1);
  std::size_t terms = 0;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  while (!text.empty()) {
    std::string_view token = take_token(text);
    if (token == "OR") {
      if (query.back().empty() || text.empty()) return Problem{"OR needs a filter on both sides"};
      query.emplace_back();
      continue;
    }
    if (++terms > kQueryTermsMax) {
      return Problem{concat("a query has at most ", kQueryTermsMax, " filters")};
    }
    const bool is_negated = token.starts_with('-') && token.size() > 1;
    if (is_negated) token.remove_prefix(1);
    Outcome<JobFilter> filter = read_term(token);
    if (!filter) return filter.error();
    query.back().push_back({.filter = *std::move(filter), .is_negated = is_negated});
  }
  if (query.back().empty()) return Problem{"OR needs a filter on both sides"};
  return query;
}

}  // namespace millrace::http
