#include "faktory/json/array_cutter.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// The elements, each followed by a bar; after the last good one the problem's text.
std::string cut(std::string_view json) {
  ArrayCutter cutter(json);
  std::string seen;
  while (true) {
    const auto element = cutter.next();
    if (!element) return seen + element.error().text;
    if (!*element) return seen;
    seen += std::string(**element) + '|';
  }
}

}  // namespace

TEST_CASE("cutter: elements are not changed") {
  CHECK(cut(R"( [{"a":1}, null ,[1,2],"x",7] )") == R"({"a":1}| null |[1,2]|"x"|7|)");
}

TEST_CASE("cutter: nothing in it") {
  CHECK(cut("[]").empty());
  CHECK(cut(" [ ] ").empty());
  CHECK(cut("null").empty());
}

TEST_CASE("cutter: brackets, commas and quotes in strings are text") {
  CHECK(cut(R"(["],{","\"]","\\",1])") == R"("],{"|"\"]"|"\\"|1|)");
  CHECK(cut(R"(["","\\\"],","\\\\","\u005c",2])") == R"(""|"\\\"],"|"\\\\"|"\u005c"|2|)");
}

TEST_CASE("cutter: nested brackets belong to the element") {
  CHECK(cut(R"([{"a":[{},[]]},[[]]])") == R"({"a":[{},[]]}|[[]]|)");
}

TEST_CASE("cutter: an empty element is one, for its reader to refuse") {
  CHECK(cut("[1,]") == "1||");
  CHECK(cut("[,]") == "||");
}

TEST_CASE("cutter: what is no array") {
  CHECK(cut("") == "unexpected end of JSON input");
  CHECK(cut("{}") == "jobs must be an array");
  CHECK(cut("nul") == "jobs must be an array");
  CHECK(cut("[1") == "unexpected end of JSON input");
  CHECK(cut("[") == "unexpected end of JSON input");
  CHECK(cut(R"(["])") == "unexpected end of JSON input");
  CHECK(cut(R"(["\)") == "unexpected end of JSON input");
  CHECK(cut("[1}") == "a bracket that was not opened");
  CHECK(cut("[1] x") == "1|invalid character after top-level value");
  CHECK(cut("[]]") == "invalid character after top-level value");
}

}  // namespace millrace::faktory
