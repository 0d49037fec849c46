#include "faktory/session/parse_track.hpp"

#include <string>

#include "core/model/features/track.hpp"
#include "faktory/json/timestamp.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

using Reason = Refused::Reason;

TrackSet set_of(std::string_view object) {
  // Views into the line must not outlive it.
  static std::string line;
  line = "SET " + std::string(object);
  const auto parsed = parse_track(line);
  REQUIRE(parsed);
  return std::get<TrackSet>(*parsed);
}

Refused refused_track(std::string_view argument) {
  const auto parsed = parse_track(argument);
  REQUIRE_FALSE(parsed);
  return parsed.error();
}

TrackSet set_percent(std::string_view percent) {
  return set_of(R"({"jid":"j","percent":)" + std::string(percent) + "}");
}

Refused refused_percent(std::string_view percent) {
  static std::string line;
  line = R"(SET {"jid":"j","percent":)" + std::string(percent) + "}";
  return refused_track(line);
}

}  // namespace

TEST_CASE("parse: TRACK GET names a job") {
  const auto parsed = parse_track("get  12345678 ");
  REQUIRE(parsed);
  CHECK(std::get<TrackGet>(*parsed).jid == "12345678");
}

TEST_CASE("parse: TRACK without a jid") {
  CHECK(refused_track("GET").reason == Reason::kMissingJid);
  CHECK(refused_track("GET ").reason == Reason::kMissingJid);
  CHECK(refused_track("SET").reason == Reason::kMissingJid);
  CHECK(refused_track("SET {}").reason == Reason::kMissingJid);
  CHECK(refused_track("SET null").reason == Reason::kMissingJid);
  CHECK(refused_track(R"(SET {"jid":null,"percent":1})").reason == Reason::kMissingJid);
}

TEST_CASE("parse: TRACK with another subcommand") {
  CHECK(refused_track("SETSTATUS x").reason == Reason::kUnknownTrackSubcommand);
  CHECK(refused_track("SETSTATUS x").text == "SETSTATUS");
  CHECK(refused_track("").text.empty());
}

TEST_CASE("parse: TRACK SET with all members, in any case") {
  const TrackSet set = set_of(
      R"({"JID":"j","Percent":12,"desc":"d","reserve_until":"2026-11-23T10:00:00Z","more":[1]})");
  CHECK(set.jid == "j");
  CHECK(set.percent == 12);
  CHECK(set.desc == "d");
  CHECK(set.reserve_until == parse_time("2026-11-23T10:00:00Z"));
}

TEST_CASE("parse: TRACK SET with nulls, as clients send it, keeps the values") {
  const TrackSet set = set_of(R"({"jid":"j","percent":null,"desc":null,"reserve_until":null})");
  CHECK_FALSE(set.percent);
  CHECK_FALSE(set.desc);
  CHECK_FALSE(set.reserve_until);
}

TEST_CASE("parse: of members of one name in TRACK SET the last counts") {
  const TrackSet set =
      set_of(R"({"jid":"i","jid":"j","percent":"x","percent":2,"desc":"d","desc":null})");
  CHECK(set.jid == "j");
  CHECK(set.percent == 2);
  CHECK_FALSE(set.desc);
}

TEST_CASE("parse: an empty description clears") {
  CHECK(set_of(R"({"jid":"j","desc":""})").desc == "");
}

TEST_CASE("parse: percent is a number from 0 to 100, without its fraction") {
  CHECK(set_percent("0").percent == 0);
  CHECK(set_percent("100").percent == 100);
  CHECK(set_percent("1.5").percent == 1);
  CHECK(set_percent("1e2").percent == 100);
  CHECK(set_percent("-0").percent == 0);
}

TEST_CASE("parse: any other percent is refused, and shown") {
  CHECK(refused_percent("101").reason == Reason::kInvalidPercent);
  CHECK(refused_percent("101").text == "101");
  CHECK(refused_percent("-1").text == "-1");
  CHECK(refused_percent("100.5").text == "100.5");
  CHECK(refused_percent("1e308").text == "1e308");
  CHECK(refused_percent("1e999").text == "1e999");
  CHECK(refused_percent(R"("5")").text == R"("5")");
  CHECK(refused_percent("true").text == "true");
  CHECK(refused_percent("[1]").text == "[1]");
}

TEST_CASE("parse: a malformed reserve_until is refused") {
  const auto reason = [](std::string_view until) {
    return refused_track(R"(SET {"jid":"j","reserve_until":)" + std::string(until) + "}").reason;
  };
  CHECK(reason(R"("tomorrow")") == Reason::kInvalidReserveUntil);
  CHECK(reason("5") == Reason::kInvalidReserveUntil);
  CHECK(reason("[]") == Reason::kInvalidReserveUntil);
}

TEST_CASE("parse: a TRACK SET that is no object of such members is refused") {
  CHECK(refused_track("SET {").reason == Reason::kInvalidTrack);
  CHECK(refused_track("SET []").reason == Reason::kInvalidTrack);
  CHECK(refused_track(R"(SET {"jid":5})").reason == Reason::kInvalidTrack);
  CHECK(refused_track(R"(SET {"jid":"j","desc":5})").reason == Reason::kInvalidTrack);
}

TEST_CASE("parse: a jid of the longest length is taken, one byte more is refused") {
  const std::string longest(kJidBytesMax, 'j');
  CHECK(set_of(R"({"jid":")" + longest + R"("})").jid == longest);
  CHECK(parse_track("GET " + longest));
  CHECK(refused_track("GET " + longest + "j").reason == Reason::kJidTooLong);
  CHECK(refused_track(R"(SET {"jid":")" + longest + R"(j"})").reason == Reason::kJidTooLong);
}

TEST_CASE("parse: a long description is cut where a character ends") {
  const auto desc = [](const std::string& text) {
    return set_of(R"({"jid":"j","desc":")" + text + R"("})").desc.value();
  };
  const std::string longest(kTrackDescBytesMax, 'd');
  CHECK(desc(longest) == longest);
  CHECK(desc(longest + "d") == longest);
  const std::string almost(kTrackDescBytesMax - 1, 'd');
  CHECK(desc(almost + "\xc3\xa9") == almost);
}

}  // namespace millrace::faktory
