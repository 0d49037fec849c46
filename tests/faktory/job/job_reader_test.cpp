#include "faktory/job/job_reader.hpp"

#include <string>
#include <utility>
#include <vector>

#include "faktory/json/json_check.hpp"
#include "faktory/json/object_reader.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// The error text, or nothing.
std::string problem_of(std::string_view json) {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read(json);
  return job ? "" : job.error().text;
}

/// The same of an array of jobs.
std::string array_problem(std::string_view json) {
  JobReader reader;
  reader.load(json);
  const Outcome<Done> whole = reader.read_array([](const JobMembers&) {});
  return whole ? "" : whole.error().text;
}

bool is_valid(std::string_view args) {
  return problem_of(R"({"args":[)" + std::string(args) + "]}").empty();
}

std::string nested(std::size_t depth) {
  return R"({"args":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

}  // namespace

TEST_CASE("read: a thousand members and no more") {
  std::string members = R"("m":1)";
  for (std::size_t i = 1; i < kMembersMax; ++i) members += R"(,"m":1)";
  CHECK(problem_of("{" + members + "}").empty());
  CHECK(problem_of("{" + members + R"(,"m":1})") == "a job of more than 1000 members");
}

TEST_CASE("read: every member") {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read(
      R"({"jid":"j\u0041","jobtype":"T","queue":"q","at":"a","created_at":"c","args":[ 1 ],)"
      R"("custom":{"x":1},"failure":{},"retry":-1,"reserve_for":60,"backtrace":2,"priority":9,)"
      R"("other" : [ 1 ]})");
  REQUIRE(job);
  CHECK(job->jid == "jA");
  CHECK(job->raw_jid == R"("j\u0041")");
  CHECK(job->jobtype == "T");
  CHECK(job->queue == "q");
  CHECK(job->at == "a");
  CHECK(job->created_at == "c");
  CHECK(job->raw_args == "[ 1 ]");
  CHECK(job->custom.raw == R"({"x":1})");
  CHECK(job->raw_failure == "{}");
  CHECK(job->retry == -1);
  CHECK(job->reserve_for == 60);
  CHECK(job->backtrace == 2);
  CHECK(job->priority == 9);
  REQUIRE(job->others.size() == 1);
  CHECK(job->others[0].first == R"("other")");
  CHECK(job->others[0].second == "[ 1 ]");
}

TEST_CASE("read: names without regard to case, the last one wins") {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read(R"({"JID":"first","jid":"second","Jid":"third"})");
  REQUIRE(job);
  CHECK(job->jid == "third");
}

TEST_CASE("read: an escaped name is the same name") {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read(R"({"\u006aid":"x","o\"\\":1})");
  REQUIRE(job);
  CHECK(job->jid == "x");
  CHECK(job->others[0].first == R"("o\"\\")");
}

TEST_CASE("read: null makes absent what is no text or number") {
  JobReader reader;
  const Outcome<JobMembers> job =
      reader.read(R"({"args":[1],"args":null,"custom":{},"custom":null,"retry":3,"retry":null,)"
                  R"("jid":"x","jid":null})");
  REQUIRE(job);
  CHECK(job->raw_args.empty());
  CHECK(job->custom.raw.empty());
  CHECK_FALSE(job->retry);
  CHECK(job->jid == "x");
}

TEST_CASE("read: a priority outside of 1 to 9 is none") {
  JobReader reader;
  CHECK_FALSE(reader.read(R"({"priority":0})")->priority);
  CHECK_FALSE(reader.read(R"({"priority":10})")->priority);
  CHECK_FALSE(reader.read(R"({"priority":"9"})")->priority);
  CHECK(reader.read(R"({"priority":1})")->priority == 1);
}

TEST_CASE("read: wrong types") {
  CHECK(problem_of(R"({"jid":123})") == "member jid has the wrong type");
  CHECK(problem_of(R"({"retry":1.5})") == "member retry has the wrong type");
  CHECK(problem_of(R"({"retry":1e2})") == "member retry has the wrong type");
  CHECK(problem_of(R"({"retry":false})") == "member retry has the wrong type");
  CHECK(problem_of(R"({"retry":9223372036854775808})") == "member retry has the wrong type");
  CHECK(problem_of(R"({"args":{}})") == "member args has the wrong type");
  CHECK(problem_of(R"({"custom":[]})") == "member custom has the wrong type");
  CHECK(problem_of(R"({"reserve_for":"1"})") == "member reserve_for has the wrong type");
}

TEST_CASE("read: null is a job without members") {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read(" null ");
  REQUIRE(job);
  CHECK(job->jid.empty());
}

TEST_CASE("read: not an object") {
  CHECK(problem_of("5") == "a job must be an object");
  CHECK(problem_of("\xEF\xBB\xBF{}") == "invalid character 'ï' looking for beginning of value");
  CHECK(problem_of("[]") == "a job must be an object");
  CHECK(problem_of("") == "unexpected end of JSON input");
  CHECK(problem_of("{") == "unexpected end of JSON input");
  CHECK(problem_of(R"({"a":"}x)") == "A string is opened, but never closed.");
  for (const char* text : {"{} x", R"({"a":"\"}"}x)", "{}]", R"({"a":{"b":[1]}} {)", "{}1"}) {
    CAPTURE(text);
    CHECK(problem_of(text) == "invalid character after top-level value");
  }
}

TEST_CASE("read: anything after the object") {
  CHECK_FALSE(problem_of("{} x").empty());
  CHECK_FALSE(problem_of("{}{}").empty());
  CHECK_FALSE(problem_of("{}}").empty());
  CHECK(problem_of(" {} \t").empty());
}

TEST_CASE("read: numbers as JSON has them, of any size") {
  CHECK(is_valid("0,-0,1,-1,10,0.5,-0.5e10,1E+3,1e-999,12345678901234567890123456789,1e999"));
  CHECK_FALSE(is_valid("01"));
  CHECK_FALSE(is_valid("-"));
  CHECK_FALSE(is_valid("+1"));
  CHECK_FALSE(is_valid("1."));
  CHECK_FALSE(is_valid(".5"));
  CHECK_FALSE(is_valid("1e"));
  CHECK_FALSE(is_valid("1e+"));
  CHECK_FALSE(is_valid("0x1"));
  CHECK_FALSE(is_valid("1 2"));
  CHECK_FALSE(is_valid("NaN"));
  CHECK_FALSE(is_valid("Infinity"));
}

TEST_CASE("read: literals") {
  CHECK(is_valid("true,false,null"));
  CHECK_FALSE(is_valid("tru"));
  CHECK_FALSE(is_valid("truee"));
  CHECK_FALSE(is_valid("nul"));
  CHECK_FALSE(is_valid("fals e"));
  CHECK_FALSE(is_valid("True"));
}

TEST_CASE("read: strings and their escapes") {
  CHECK(is_valid(R"("","\"\\\/\b\f\n\r\t","\u00e9","\ud83d\ude00")"));
  CHECK_FALSE(is_valid(R"("\x")"));
  CHECK_FALSE(is_valid(R"("\u12")"));
  CHECK_FALSE(is_valid(R"("\u12g4")"));
  CHECK_FALSE(is_valid("\"\n\""));
  CHECK_FALSE(is_valid("\"\x01\""));
  CHECK_FALSE(is_valid("\"a"));
  CHECK_FALSE(is_valid("'a'"));
  CHECK_FALSE(is_valid(R"("a""b")"));
}

TEST_CASE("read: structure") {
  CHECK(is_valid(R"([],{},[[]],{"a":{"b":[{}]}})"));
  CHECK_FALSE(is_valid("1,"));
  CHECK_FALSE(is_valid(",1"));
  CHECK_FALSE(is_valid("[1"));
  CHECK_FALSE(is_valid("[1}"));
  CHECK_FALSE(is_valid("{\"a\"}"));
  CHECK_FALSE(is_valid("{\"a\":}"));
  CHECK_FALSE(is_valid("{\"a\":1,}"));
  CHECK_FALSE(is_valid("{a:1}"));
  CHECK_FALSE(is_valid("{1:1}"));
  CHECK_FALSE(is_valid("{\"a\" 1}"));
  CHECK_FALSE(is_valid("]"));
  CHECK_FALSE(is_valid("1]],[[1"));
}

TEST_CASE("read: mistakes in unknown members count too") {
  CHECK_FALSE(problem_of(R"({"x":01})").empty());
  CHECK_FALSE(problem_of(R"({"x":{"y":[tru]}})").empty());
  CHECK_FALSE(problem_of(R"({"\x":1})").empty());
  CHECK_FALSE(problem_of(R"({"x":"\q"})").empty());
}

TEST_CASE("read: nesting at the limit, one past it, and far beyond") {
  CHECK(problem_of(nested(kNestingMax - 1)).empty());
  CHECK(problem_of(nested(kNestingMax)) == "nested deeper than 512 levels");
  CHECK(problem_of(nested(10'000)) == "nested deeper than 512 levels");
  CHECK_FALSE(problem_of(R"({"args":)" + std::string(1'000'000, '[')).empty());
}

TEST_CASE("read: bytes that are not UTF-8 become U+FFFD") {
  JobReader reader;
  const Outcome<JobMembers> job = reader.read("{\"jid\":\"\xFFx\",\"args\":[\"\\ud800\"]}");
  REQUIRE(job);
  CHECK(job->jid == "\xEF\xBF\xBDx");
  CHECK(job->raw_args == R"(["\ufffd"])");
}

TEST_CASE("read: every prefix of a job is refused") {
  const std::string job = R"({"jid":"abc","args":[1,{"a":"\u00e9"},true],"x":-1.5e3})";
  for (std::size_t bytes = 0; bytes < job.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK_FALSE(problem_of(std::string_view(job).substr(0, bytes)).empty());
  }
  CHECK(problem_of(job).empty());
}

TEST_CASE("read_array: all jobs are good until the next call") {
  JobReader reader;
  std::vector<JobMembers> jobs;
  const auto keep = [&](const JobMembers& job) { jobs.push_back(job); };
  reader.load(R"( [ {"jid":"\u0041"} , null,{"args":[ 1 ],"x":"]"},{}] )");
  REQUIRE(reader.read_array(keep));
  REQUIRE(jobs.size() == 4);
  CHECK(jobs[0].jid == "A");
  CHECK(jobs[1].jid.empty());
  CHECK(jobs[2].raw_args == "[ 1 ]");
  CHECK(jobs[2].others[0].second == R"("]")");
  CHECK(array_problem("[]").empty());
  CHECK(array_problem(" null ").empty());
}

TEST_CASE("read_array: bytes that are not UTF-8 become U+FFFD") {
  JobReader reader;
  std::string jids;
  reader.load("[{\"jid\":\"\xFF\"},{\"jid\":\"\\ud800\"}]");
  REQUIRE(reader.read_array([&](const JobMembers& job) { jids += job.jid; }));
  CHECK(jids == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("read_array: the array is a level too") {
  CHECK(array_problem("[" + nested(kNestingMax - 2) + "]").empty());
  CHECK(array_problem("[" + nested(kNestingMax - 1) + "]") == "nested deeper than 512 levels");
}

TEST_CASE("read_array: a thousand members in each job and no more") {
  std::string members = R"("m":1)";
  for (std::size_t i = 1; i < kMembersMax; ++i) members += R"(,"m":1)";
  const std::string job = "{" + members + "}";
  CHECK(array_problem("[" + job + "," + job + "]").empty());
  CHECK(array_problem("[" + job + ",{" + members + R"(,"m":1}])") ==
        "a job of more than 1000 members");
}

TEST_CASE("read_array: what is no array of jobs") {
  CHECK(array_problem("") == "unexpected end of JSON input");
  CHECK(array_problem("[") == "unexpected end of JSON input");
  CHECK(array_problem("[{}") == "unexpected end of JSON input");
  for (const char* const text : {"7", "{}", "\"x\"", "true", "\xEF\xBB\xBF[]"}) {
    CAPTURE(text);
    CHECK(array_problem(text) == "jobs must be an array");
  }
  for (const char* const text : {"[7]", "[[]]", "[\"x\"]", "[true]", "[{},1]"}) {
    CAPTURE(text);
    CHECK(array_problem(text) == "a job must be an object");
  }
  for (const char* const text : {"[] x", "[{}]]", "[{}] {", "[]1", "[{}],[{}]", "[{}][{}]"}) {
    CAPTURE(text);
    CHECK(array_problem(text) == "invalid character after top-level value");
  }
  for (const char* const text : {"[,]", "[{},]", "[,{}]", "[{} {}]", "[{}}", "]", "}", "[nul]",
                                 "[nulll]", "[null null]", "nul", "[{\"a\":01}]", "[{\"a\":1,}]",
                                 "[{\"a\"}]", "[{]}", "[{}\x01]", "[\xEF\xBB\xBF{}]"}) {
    CAPTURE(text);
    CHECK_FALSE(array_problem(text).empty());
  }
  CHECK(array_problem(R"([{},{"jid":7}])") == "member jid has the wrong type");
}

TEST_CASE("read_array: every prefix is refused") {
  const std::string array = R"([{"jid":"abc","args":[1,{"a":"\u00e9"},true]},null,{"x":-1.5e3}])";
  for (std::size_t bytes = 0; bytes < array.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK_FALSE(array_problem(std::string_view(array).substr(0, bytes)).empty());
  }
  CHECK(array_problem(array).empty());
}

TEST_CASE("load: a text of its own, with room and without") {
  JobReader reader;
  for (const std::size_t room : {std::size_t{0}, JobReader::kRoomBytes}) {
    std::string json = R"({"jid":")" + std::string(1000, 'j') + R"("})";
    json.shrink_to_fit();
    json.reserve(json.size() + room);
    const bool is_kept = room > 0;
    const char* const place = json.data();
    reader.load_own(std::move(json));
    const Outcome<JobMembers> job = reader.read();
    REQUIRE(job);
    CHECK(job->jid == std::string(1000, 'j'));
    CHECK((job->raw_jid.data() - 7 == place) == is_kept);
  }
}

TEST_CASE("shrink: works before and after use") {
  JobReader reader;
  reader.shrink();
  REQUIRE(reader.read(R"({"args":[")" + std::string(1 << 20, 'x') + R"("]})"));
  reader.shrink();
  CHECK(reader.read(R"({"jid":"a"})")->jid == "a");
}

}  // namespace millrace::faktory
