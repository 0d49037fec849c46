#include "faktory/session/parse_track.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "core/model/features/track.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

using Reason = Refused::Reason;
using Parsed = Result<Command, Refused>;

constexpr double kPercentMax = 100;

/// The members but for the percent, of which a refusal shows the text.
struct Members {
  TrackSet set;
  std::string reserve_until;

  bool take(std::string_view name, const MemberValue& value) {
    const auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
    if (is("jid")) return take_text(value, set.jid);
    if (is("desc")) return take_desc(value);
    if (is("reserve_until")) return take_until(value);
    return true;
  }

 private:
  bool take_desc(const MemberValue& value) {
    if (value.kind == MemberValue::Kind::kNull) {
      set.desc.reset();
      return true;
    }
    return take_text(value, set.desc.emplace());
  }
  bool take_until(const MemberValue& value) {
    // Anything but a string is no time, which is told apart from what is no object.
    reserve_until = value.kind == MemberValue::Kind::kNull     ? ""
                    : value.kind == MemberValue::Kind::kString ? value.string
                                                               : "?";
    return true;
  }
};

/// The text of the last member of that name; empty: there is none, or null.
std::string_view raw_percent(std::string_view object) {
  std::string_view found;
  each_member(object, [&found](std::string_view name, std::string_view value) {
    if (equals_ignoring_case(meaning_of(name), "percent")) found = value;
  });
  return found == "null" ? std::string_view{} : found;
}

/// nullopt: it is no number, or out of range.
std::optional<std::uint8_t> percent_of(std::string_view raw) {
  const std::optional<double> number = parse_number<double>(raw);
  // Also false for what is no number.
  if (!number || !(*number >= 0 && *number <= kPercentMax)) return std::nullopt;
  return static_cast<std::uint8_t>(*number);
}

Parsed parse_set(std::string_view object) {
  if (trimmed(object).empty()) return Refused{Reason::kMissingJid, {}};
  Members members;
  const ObjectShape shape = read_object(
      object,
      [&](std::string_view name, const MemberValue& value) { return members.take(name, value); });
  if (shape == ObjectShape::kMalformed) return Refused{Reason::kInvalidTrack, object};
  TrackSet& set = members.set;
  if (set.jid.empty()) return Refused{Reason::kMissingJid, {}};
  if (set.jid.size() > kJidBytesMax) return Refused{Reason::kJidTooLong, {}};
  if (const std::string_view percent = raw_percent(object); !percent.empty()) {
    set.percent = percent_of(percent);
    if (!set.percent) return Refused{Reason::kInvalidPercent, percent};
  }
  if (!members.reserve_until.empty()) {
    set.reserve_until = parse_time(members.reserve_until);
    if (!set.reserve_until) return Refused{Reason::kInvalidReserveUntil, {}};
  }
  if (set.desc) set.desc = std::string(cut(*set.desc, kTrackDescBytesMax));
  return Command{std::move(set)};
}

Parsed parse_get(std::string_view argument) {
  const std::string_view jid = trimmed(argument);
  if (jid.empty()) return Refused{Reason::kMissingJid, {}};
  if (jid.size() > kJidBytesMax) return Refused{Reason::kJidTooLong, {}};
  return Command{TrackGet{jid}};
}

}  // namespace

Parsed parse_track(std::string_view argument) {
  const std::size_t end = std::min(argument.find(' '), argument.size());
  const std::string_view subcommand = argument.substr(0, end);
  const std::string_view rest = argument.substr(std::min(end + 1, argument.size()));
  if (equals_ignoring_case(subcommand, "get")) return parse_get(rest);
  if (equals_ignoring_case(subcommand, "set")) return parse_set(rest);
  return Refused{Reason::kUnknownTrackSubcommand, subcommand};
}

}  // namespace millrace::faktory
