#include "faktory/json/object_reader.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// Shape and members as one line: n null, s string, i integer, l list, o other.
std::string read(std::string_view json) {
  std::string seen;
  const ObjectShape shape = read_object(json, [&](std::string_view name, const MemberValue& value) {
    seen += std::string(name) + '=';
    switch (value.kind) {
      case MemberValue::Kind::kNull:
        seen += 'n';
        break;
      case MemberValue::Kind::kString:
        seen += 's' + value.string;
        break;
      case MemberValue::Kind::kInteger:
        seen += 'i' + std::to_string(value.integer);
        break;
      case MemberValue::Kind::kStringList:
        seen += 'l' + std::to_string(value.strings.size());
        break;
      case MemberValue::Kind::kOther:
        seen += 'o';
        break;
    }
    seen += ' ';
    return true;
  });
  if (shape == ObjectShape::kMalformed) return "malformed";
  return shape == ObjectShape::kNull ? "null" : seen;
}

std::string nested_object(std::size_t depth) {
  return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + '}';
}

}  // namespace

TEST_CASE("read_object: members of every kind") {
  CHECK(read(R"({"a":null,"b":"x","c":-7,"d":["p",null],"e":true,"f":1.0,"g":{},"h":[1]})") ==
        "a=n b=sx c=i-7 d=l2 e=o f=o g=o h=o ");
}

TEST_CASE("read_object: inner members are not reported") {
  CHECK(read(R"({"a":{"b":"x","c":["y"]},"d":[["z"],"w"],"e":"v"})") == "a=o d=o e=sv ");
}

TEST_CASE("read_object: a name may come twice") {
  CHECK(read(R"({"a":1,"a":"x"})") == "a=i1 a=sx ");
}

TEST_CASE("read_object: integers at the ends of 64 bits and beyond") {
  CHECK(read(R"({"a":9223372036854775807,"b":-9223372036854775808,"c":9223372036854775808})") ==
        "a=i9223372036854775807 b=i-9223372036854775808 c=o ");
  CHECK(read(R"({"a":1e999})") == "a=o ");
}

TEST_CASE("read_object: white space around") {
  CHECK(read(" \t{ \"a\" : 1 } ") == "a=i1 ");
}

TEST_CASE("read_object: null") {
  CHECK(read("null") == "null");
}

TEST_CASE("read_object: what no object is") {
  CHECK(read("") == "malformed");
  CHECK(read("{") == "malformed");
  CHECK(read("5") == "malformed");
  CHECK(read(R"("x")") == "malformed");
  CHECK(read(R"([{"a":1}])") == "malformed");
  CHECK(read("{} x") == "malformed");
  CHECK(read("{}{}") == "malformed");
  CHECK(read("null x") == "malformed");
  CHECK(read("nul") == "malformed");
  CHECK(read(R"({"a":1,})") == "malformed");
  CHECK(read(R"({"a":01})") == "malformed");
  CHECK(read(R"({"a":tru})") == "malformed");
  CHECK(read(R"({"a":[1 2]})") == "malformed");
  CHECK(read(R"({"a":["\x"]})") == "malformed");
  CHECK(read(R"({"a" 1})") == "malformed");
  CHECK(read(R"({a:1})") == "malformed");
  CHECK(read("{\"a\":\"\x01\"}") == "malformed");
}

TEST_CASE("read_object: bad UTF-8 and half surrogate pairs become U+FFFD") {
  CHECK(read("{\"a\":\"\xFF\",\"b\":\"\\ud800\"}") == "a=s\xEF\xBF\xBD b=s\xEF\xBF\xBD ");
}

TEST_CASE("read_object: nesting at the limit, one past it, and far beyond") {
  CHECK(read(nested_object(kNestingMax - 1)) == "a=o ");
  CHECK(read(nested_object(kNestingMax)) == "malformed");
  CHECK(read(nested_object(10'000)) == "malformed");
  CHECK(read(std::string(1'000'000, '[')) == "malformed");
}

TEST_CASE("read_object: a long list is cut") {
  std::string list = "\"x\"";
  for (std::size_t i = 0; i < kListEntriesMax; ++i) list += ",\"x\"";
  CHECK(read("{\"a\":[" + list + "]}") == "a=l" + std::to_string(kListEntriesMax) + " ");
}

TEST_CASE("read_object: the visitor can stop it") {
  CHECK(read_object(R"({"a":1})", [](std::string_view, const MemberValue&) { return false; }) ==
        ObjectShape::kMalformed);
}

}  // namespace millrace::faktory
