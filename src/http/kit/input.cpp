#include "http/kit/input.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

/// More members than any body has.
constexpr std::size_t kMembersMax = 32;

constexpr std::array kStates = {JobState::kScheduled, JobState::kReady, JobState::kReserved,
                                JobState::kRetrying, JobState::kDead};

}  // namespace

const char* name_of(JobState state) {
  switch (state) {
    case JobState::kScheduled:
      return "scheduled";
    case JobState::kReady:
      return "ready";
    case JobState::kReserved:
      return "reserved";
    case JobState::kRetrying:
      return "retrying";
    case JobState::kDead:
      return "dead";
  }
  return "";
}

std::optional<JobState> parse_state(std::string_view name) {
  for (const JobState state : kStates) {
    if (name == name_of(state)) return state;
  }
  return std::nullopt;
}

Outcome<std::size_t> read_limit(const Request& request) {
  const std::string_view text = request.param("limit");
  const auto limit = text.empty() ? std::optional(kPageDefault) : parse_number<std::size_t>(text);
  if (!limit || *limit < 1 || *limit > kPageMax) {
    return Problem{concat("limit is not a number from 1 to ", kPageMax)};
  }
  return *limit;
}

std::string show_place(const ScanPlace& place) {
  return concat(place.created, ".", place.major, ".", place.minor);
}

std::optional<ScanPlace> parse_place(std::string_view text) {
  const std::size_t first = std::min(text.find('.'), text.size());
  const std::size_t second = text.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto created = parse_number<std::uint64_t>(text.substr(0, first));
  const auto major = parse_number<std::int64_t>(text.substr(first + 1, second - first - 1));
  const auto minor = parse_number<std::uint64_t>(text.substr(second + 1));
  if (!created || !major || !minor) return std::nullopt;
  return ScanPlace{.created = *created, .major = *major, .minor = *minor};
}

std::optional<Mutation::Action> parse_action(std::string_view name) {
  if (name == "retry") return Mutation::Action::kRequeue;
  if (name == "kill") return Mutation::Action::kKill;
  if (name == "delete") return Mutation::Action::kDiscard;
  if (name == "move") return Mutation::Action::kMove;
  return std::nullopt;
}

Outcome<Json> read_members(std::string_view body) {
  // Changes without members, such as resume, need no body.
  if (body.empty()) return Json::object();
  std::set<std::string> names;
  bool is_doubled = false;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (event != Json::parse_event_t::key) return true;
    // The library looks for each name among all names before it, which takes long for many. No body
    // has objects inside, and one with too many members has an unknown one among the first.
    if (depth > 1 || names.size() > kMembersMax) return false;
    // The library would silently take the last one.
    if (!names.insert(parsed.get<std::string>()).second) is_doubled = true;
    return true;
  };
  Json object = Json::parse(body, look, false);
  if (!object.is_object()) return Problem{"the body is not a JSON object"};
  if (is_doubled) return Problem{std::string(kDoubled)};
  return object;
}

std::vector<std::string> member_names(std::string_view json) {
  std::vector<std::string> names;
  std::string_view last;  // the last string, with its quotes
  int depth = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ':' && depth == 1) {
      const Json name = Json::parse(last, nullptr, false);
      if (name.is_string()) names.push_back(lower_case(name.get<std::string>()));
    }
    if (c != '"') continue;
    const std::size_t begin = i;
    for (++i; i < json.size() && json[i] != '"'; ++i) i += json[i] == '\\' ? 1 : 0;
    last = json.substr(begin, i + 1 - begin);
  }
  return names;
}

Time time_of_ms(std::uint64_t ms, WallClock clock) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 42;
  return clock.steady(Time{std::chrono::milliseconds{std::min(ms, kMost)}});
}

std::string read_text(const Json& object, const char* name) {
  const auto found = object.find(name);
  const bool is_text = found != object.end() && found->is_string();
  return is_text ? found->get<std::string>() : std::string();
}

}  // namespace millrace::http
