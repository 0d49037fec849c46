#include "faktory/json/minifier.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// What was written, of a text that ends here; nullopt: it is refused.
std::optional<std::string> finished_text(Minifier& minifier, const Rope& out) {
  if (!minifier.finish()) return std::nullopt;
  std::string text;
  out.copy(0, out.size(), text);
  return text;
}

/// What is written of a text that comes in pieces of that size; nullopt: it is refused.
std::optional<std::string> compact(std::string_view json, std::size_t piece,
                                   Minifier::Root root = Minifier::Root::kJob) {
  Rope out;
  Minifier minifier(root, out);
  for (std::size_t at = 0; at < json.size(); at += piece) {
    if (!minifier.add(json.substr(at, piece))) return std::nullopt;
  }
  return finished_text(minifier, out);
}

/// The same, of a text that is cut once, there.
std::optional<std::string> compact_cut(std::string_view json, std::size_t cut) {
  Rope out;
  Minifier minifier(Minifier::Root::kJob, out);
  if (!minifier.add(json.substr(0, cut)) || !minifier.add(json.substr(cut))) return std::nullopt;
  return finished_text(minifier, out);
}

/// What is extracted of a text that comes in pieces of that size; nullopt: it is refused.
std::optional<std::string> extract(std::string_view json, std::size_t piece) {
  static constexpr std::array<std::string_view, 3> kNames = {"jid", "args", "a"};
  constexpr Minifier::Extract kExtract{
      .names = kNames, .text_bytes_max = 8, .entries_max = 2, .bytes_max = 200};
  Rope out;
  Minifier minifier(kExtract, out);
  for (std::size_t at = 0; at < json.size(); at += piece) {
    if (!minifier.add(json.substr(at, piece))) return std::nullopt;
  }
  return finished_text(minifier, out);
}

/// The same in each size of pieces, all of which must agree.
std::string extract_of(std::string_view json) {
  const std::optional<std::string> whole = extract(json, json.size() + 1);
  for (std::size_t piece = 1; piece < std::min<std::size_t>(json.size(), 50); ++piece) {
    if (extract(json, piece) != whole) return "differs in pieces of " + std::to_string(piece);
  }
  return whole.value_or("refused");
}

std::string brackets(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

/// Members have the right types wherever a text is asked about JSON only.
bool is_about_types(const Problem& problem) {
  return problem.text.find("has the wrong type") != std::string::npos;
}

/// Says what differs from `JobReader`; empty: nothing.
std::string difference(std::string_view json, std::size_t piece) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  const std::optional<std::string> text = compact(json, piece);
  if (!members && is_about_types(members.error())) return {};
  if (members.has_value() != text.has_value()) {
    return std::string(members ? "refused: " : "accepted: ") + std::string(json);
  }
  if (!text) return {};
  JobReader second;
  const Outcome<JobMembers> again = second.read(*text);
  if (!again) return "what was written is refused: " + std::string(json);
  const auto is_same = [&](auto member) { return (*members).*member == (*again).*member; };
  const bool is_equal = is_same(&JobMembers::jid) && is_same(&JobMembers::raw_jid) &&
                        is_same(&JobMembers::queue) && is_same(&JobMembers::retry) &&
                        members->others.size() == again->others.size();
  if (!is_equal) return "other members: " + std::string(json);
  if (trimmed(json) == "null") return {};
  std::string expected(text->size() + json.size() * 3 + 64, '\0');
  std::size_t bytes = 0;
  const std::string repaired = repaired_json(json).value_or(std::string(json));
  REQUIRE(simdjson::minify(repaired.data(), repaired.size(), expected.data(), bytes) ==
          simdjson::SUCCESS);
  return expected.substr(0, bytes) == *text ? std::string() : "other text: " + std::string(json);
}

const std::vector<std::string>& samples() {
  static const std::vector<std::string> all = {
      R"({"jid":"12345678","jobtype":"T","queue":"q","args":[1,-2.5e+10,0,0.1,"x",null,true]})",
      R"( { "jid" : "a\"\\\/\b\f\n\r\tz" , "args" : [ [ ] , { } , [ { "a" : { } } ] ] } )",
      R"({"custom":{"a":"\u0041\ud83d\ude00\ud83d\u0041\udc00\uD800\ud800\udc00"},"retry":-1})",
      "{\"jid\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\"}",
      R"({"a":1e5,"b":1E-0,"c":-0,"d":-0.0e0,"e":123456789012345678901234567890})",
      R"({"":"","\u0061":[[[[[]]]]],"a":{"b":{"c":[1,[2,[3]]]}}})",
      "null",
      " null ",
      "{}",
      "[]",
      "",
      R"({"a":01})",
      R"({"a":1.})",
      R"({"a":.5})",
      R"({"a":1e})",
      R"({"a":-})",
      R"({"a":truee})",
      R"({"a":false,"b":[false]})",
      R"({"a":nul})",
      R"({"a" 1})",
      R"({"a":1,})",
      R"({,"a":1})",
      R"({"a":[1,]})",
      R"({"a":[,1]})",
      R"({"a":[1 2]})",
      R"({"a":1]})",
      R"({"a":[1}})",
      R"({"a":1}})",
      R"({"a":1} {})",
      R"({"a":"\x"})",
      R"({"a":"\u12G4"})",
      R"({"a":"\u-123"})",
      R"({"a":"\)",
      R"({"a":"\")",
      R"({"a":"\ud83d)",
      R"({"a":"\u0041"})",
      "{\"a\":\"\x01\"}",
      "{\"a\":\"\x7F\"}",
      "{\"a\":\xC3\xA4}",
      "{\"a\":\"\xC3",
      "{\"a\":1\v}",
      "\xEF\xBB\xBF{}",
      std::string("{\"a\":\0}", 7),
      R"({"a":1"b":2})",
      R"({"a":"b""c":2})",
      R"({"a":"b"1})",
      R"({1:2})",
      R"({null:2})",
  };
  return all;
}

}  // namespace

TEST_CASE("minifier: accepts what the reader accepts, cut at every byte") {
  for (const std::string& json : samples()) {
    CAPTURE(json);
    for (const std::size_t piece : {1, 2, 3, 5, 7, 11, 13, 1000}) {
      CHECK(difference(json, piece) == "");
    }
    const std::optional<std::string> whole = compact(json, 1000);
    for (std::size_t cut = 0; cut <= json.size(); ++cut) CHECK(compact_cut(json, cut) == whole);
    // Nothing that ends too early is accepted.
    for (std::size_t size = 0; size < json.size(); ++size) {
      CHECK(difference(std::string_view(json).substr(0, size), 4) == "");
    }
  }
}

TEST_CASE("minifier: accepts what the reader accepts, of mutated documents") {
  constexpr std::string_view kBytes =
      "\"\\{}[]:,0123456789eE+-. \t\r\nutfalsn\x01\x80\xC3\xA4\xED\xF0\xFF";
  std::mt19937 random(4711);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int i = 0; i < 20'000; ++i) {
    std::string json = samples()[below(samples().size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(json.size() + 1);
      const std::string& other = samples()[below(samples().size())];
      switch (below(4)) {
        case 0:
          json.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        case 1:
          if (at < json.size()) json[at] = kBytes[below(kBytes.size())];
          break;
        case 2:
          json.erase(at, 1 + below(3));
          break;
        default:
          json.insert(at, other.substr(std::min(other.size(), below(20)), below(20)));
      }
    }
    const std::string found = difference(json, 1 + below(20));
    REQUIRE(found == "");
  }
}

TEST_CASE("minifier: of an array, each element is a job or null") {
  const auto jobs = [](std::string_view json) {
    const std::optional<std::string> text = compact(json, 3, Minifier::Root::kJobs);
    CHECK(compact(json, 1000, Minifier::Root::kJobs) == text);
    return text.value_or("refused");
  };
  CHECK(jobs(" [ { } , null , { \"a\" : [ 1 , 2 ] } ] ") == R"([{},null,{"a":[1,2]}])");
  CHECK(jobs(" null ") == "null");
  CHECK(jobs("[ ]") == "[]");
  CHECK(compact(std::string(70'000, ' ') + "[" + std::string(70'000, ' ') + "]", 4096,
                Minifier::Root::kJobs) == "[]");
  for (const char* const json : {"[7]", "[[]]", "[\"a\"]", "[{},]", "[,{}]", "[{}", "{}", "7",
                                 "[{}]]", "[{}] []", "nul", "[true]", "[{}}", "", "[{} {}]"}) {
    CAPTURE(json);
    CHECK(jobs(json) == "refused");
  }
  const std::string in(510, '[');
  const std::string out(510, ']');
  CHECK(jobs("[{\"a\":" + in + out + "}]") != "refused");
  CHECK(jobs("[{\"a\":" + in + "1" + out + "}]") == "refused");
  std::string job = "{\"a\":0";
  for (std::size_t i = 1; i < kMembersMax; ++i) job += ",\"a\":0";
  CHECK(jobs("[" + job + "}," + job + "}]") != "refused");
  CHECK(jobs("[" + job + "}," + job + ",\"a\":0}]") == "refused");
}

TEST_CASE("minifier: nests as deep as the reader, and no deeper") {
  for (const std::size_t deep : {509, 510, 511, 512, 513, 5'000}) {
    const std::string in(deep, '[');
    const std::string out(deep, ']');
    CAPTURE(deep);
    for (const char* const inner : {"", "1", "\"\"", "{}"}) {
      CHECK(difference(R"({"a":)" + in + inner + out + "}", 100) == "");
      const std::string json = R"({"a":)" + in + inner + out + "}";
      JobReader reader;
      CHECK(reader.read_element(json).has_value() ==
            compact(json, 100, Minifier::Root::kJobOfArray).has_value());
    }
  }
  Rope out;
  Minifier minifier(Minifier::Root::kJob, out);
  CHECK(minifier.add(R"({"a":)"));
  CHECK_FALSE(minifier.add(std::string(1'000'000, '[')));
}

TEST_CASE("minifier: has as many members as the reader, and no more") {
  for (const std::size_t count : {kMembersMax, kMembersMax + 1}) {
    std::string json = "{\"a\":0";
    for (std::size_t i = 1; i < count; ++i) json += ",\"a\":0";
    CHECK(difference(json + "}", 100) == "");
    CHECK(compact(json + "}", 100).has_value() == (count == kMembersMax));
  }
}

TEST_CASE("minifier: says where the members are") {
  Rope out;
  Minifier minifier(Minifier::Root::kJob, out);
  CHECK(minifier.add(R"({ "a" : [ {"x" : 1} ] , "\u00)"));
  CHECK(minifier.add("41\":12 , \"\xFF\" : \"\\ud800\" }"));
  CHECK(minifier.finish());
  std::vector<std::string> found;
  for (const Minifier::Member& member : minifier.members()) {
    out.copy(member.name_begin, member.name_end, found.emplace_back());
    out.copy(member.begin, member.end, found.emplace_back());
  }
  CHECK(found == std::vector<std::string>{"\"a\"", R"([{"x":1}])", R"("\u0041")", "12",
                                          "\"\xEF\xBF\xBD\"", R"("\ufffd")"});
}

TEST_CASE("extract: has the members that are wanted") {
  CHECK(extract_of(R"({"x":{"jid":1},"jid":"1","y":[1,"a",{}],"args":[1]})") ==
        R"({"jid":"1","args":[1]})");
  CHECK(extract_of(R"( { "JID" : null , "\u0061" : 1.5e3 } )") == R"({"JID":null,"\u0061":1.5e3})");
  CHECK(extract_of(R"({"x":1,"jidd":2,"ji":3,"":4})") == "{}");
  CHECK(extract_of(R"({"jid":"1","jid":"2"})") == R"({"jid":"1","jid":"2"})");
  CHECK(extract_of("null") == "null");
  CHECK(extract_of("{}") == "{}");
}

TEST_CASE("extract: texts are cut, and never within a character") {
  CHECK(extract_of(R"({"jid":"0123456789abcdef","a":1})") == R"({"jid":"0123456","a":1})");
  CHECK(extract_of(R"({"jid":"012345\"\"\"\"x"})") == R"({"jid":"012345\""})");
  CHECK(extract_of(R"({"jid":"01234\u0041\\\\x"})") == R"({"jid":"01234\u0041"})");
  CHECK(extract_of(R"({"jid":"01234\ud83d\ude00yz"})") == R"({"jid":"01234\ud83d\ude00"})");
  CHECK(extract_of("{\"jid\":\"012345\xE2\x82\xAC\xE2\x82\xAC\"}") ==
        "{\"jid\":\"012345\xE2\x82\xAC\"}");
  CHECK(extract_of(R"({"a long name of a member":"x","jid":"1"})") == R"({"jid":"1"})");
}

TEST_CASE("extract: of a list the first entries are kept, and nothing that is nested in them") {
  CHECK(extract_of(R"({"args":["a","b","c",["d"]],"jid":"1"})") ==
        R"({"args":["a","b"],"jid":"1"})");
  CHECK(extract_of(R"({"args":[["x",[1]],{"y":{"z":1}},3],"a":[]})") ==
        R"({"args":[[],{}],"a":[]})");
  CHECK(extract_of(R"({"args":{"a":["b"],"c":{}},"jid":"1"})") == R"({"args":{},"jid":"1"})");
  CHECK(extract_of(R"({"args":["0123456789","ab"]})") == R"({"args":["0123456","ab"]})");
}

TEST_CASE("extract: what is no JSON is refused, also where it is left out") {
  for (const char* const json :
       {R"({"x":tru})", R"({"x":[1,],"jid":"1"})", R"({"jid":"0123456789\q"})", R"({"x":{"a"}})",
        R"({"args":[1,2,3,01]})", R"({"jid":"1"} x)", R"({"jid":"1")", R"({"x":[}]})", "[]", ""}) {
    CAPTURE(json);
    CHECK(extract_of(json) == "refused");
  }
}

TEST_CASE("extract: bytes that no text has become U+FFFD") {
  CHECK(extract_of("{\"jid\":\"a\x01\xFF\"}") == "{\"jid\":\"a\xEF\xBF\xBD\xEF\xBF\xBD\"}");
  CHECK(extract_of(std::string_view("{\"jid\":\"a\0b\"}", 13)) ==
        "{\"jid\":\"a\xEF\xBF\xBD"
        "b\"}");
  CHECK(extract_of(R"({"jid":"\ud800"})") == R"({"jid":"\ufffd"})");
}

TEST_CASE("extract: is bounded, however much there is") {
  CHECK(extract(R"({"x":)" + brackets(9'999) + "}", 100) == "{}");
  CHECK(extract(R"({"a":)" + brackets(9'999) + "}", 100) == R"({"a":[[]]})");
  CHECK_FALSE(extract(R"({"x":)" + brackets(10'000) + "}", 100));
  std::string many = R"({"x":0)";
  for (int i = 0; i < 5'000; ++i) many += R"(,"x":0)";
  CHECK(extract(many + R"(,"jid":"1"})", 100) == R"({"jid":"1"})");
  for (int i = 0; i < 100; ++i) many += R"(,"jid":"1")";
  CHECK_FALSE(extract(many + "}", 100));
  CHECK(extract(R"({"x":")" + std::string(1'000'000, '"') + "}", 100) == std::nullopt);
  CHECK(extract(R"({"jid":")" + std::string(1'000'000, 'y') + "\"}", 4096) ==
        R"({"jid":"yyyyyyy"})");
}

TEST_CASE("extract: accepts what the minifier accepts, of mutated documents") {
  constexpr std::string_view kBytes = "\"\\{}[]:,01eE+-. \t\nutfalsn\x80\xC3\xA4\xF0\xFF";
  std::mt19937 random(815);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int i = 0; i < 20'000; ++i) {
    std::string json = samples()[below(samples().size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      json.insert(below(json.size() + 1), 1, kBytes[below(kBytes.size())]);
    }
    if (std::ranges::any_of(json, [](unsigned char byte) { return byte < 0x20; })) continue;
    const std::optional<std::string> whole = compact(json, 1000);
    const std::optional<std::string> found = extract(json, 1 + below(20));
    CAPTURE(json);
    REQUIRE(found.has_value() == whole.has_value());
    if (found) REQUIRE(nlohmann::json::accept(*found));
    if (found) REQUIRE(found->size() <= whole->size());
  }
}

}  // namespace millrace::faktory
