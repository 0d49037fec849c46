#include "http/routes/arg_search.hpp"

#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// The only one of the text.
ArgPath path(std::string_view text) {
  const auto paths = parse_args(text).value();
  REQUIRE(paths.size() == 1);
  return paths.front();
}

bool finds(std::string_view wanted, std::string_view args) {
  ArgSearch whole(path(wanted));
  const bool is_found = whole.read(args);
  // In pieces it finds the same.
  ArgSearch in_pieces(path(wanted));
  bool is_found_in_pieces = false;
  for (const char byte : args) {
    is_found_in_pieces = is_found_in_pieces || in_pieces.read({&byte, 1});
  }
  CHECK(is_found == is_found_in_pieces);
  CHECK((is_found || whole.is_over()));
  return is_found;
}

TEST_CASE("arg search: a member of a member of any argument") {
  CHECK(finds("user.id:42", R"([1,{"user":{"id":42,"name":"x"}}])"));
  CHECK(finds("user.id:42", R"([ { "user" : { "id" : 42 } } ])"));
  CHECK_FALSE(finds("user.id:42", R"([{"user":{"id":421}}])"));
  CHECK_FALSE(finds("user.id:42", R"([{"user":{"no":42}},{"id":42}])"));
  CHECK_FALSE(finds("user.id:42", R"([{"other":{"user":{"id":42}}}])"));
  CHECK_FALSE(finds("user.id:42", R"([{"user":{"x":{"id":42}}}])"));
}

TEST_CASE("arg search: a number names an element, and elements need none") {
  CHECK(finds("0:7", "[7,8]"));
  CHECK_FALSE(finds("1:7", "[7,8]"));
  CHECK(finds("1.id:7", R"([{"id":8},{"id":7}])"));
  CHECK_FALSE(finds("0.id:7", R"([{"id":8},{"id":7}])"));
  CHECK(finds("ids:7", R"([{"ids":[5,[6,7]]}])"));
  CHECK(finds("ids.1:6", R"([{"ids":[5,6]}])"));
  CHECK_FALSE(finds("ids.1:5", R"([{"ids":[5,6]}])"));
}

TEST_CASE("arg search: strings are compared without quotes and escapes, others as written") {
  CHECK(finds("to:you", R"([{"to":"you"}])"));
  CHECK(finds("to:a\"b", R"([{"to":"a\"b"}])"));
  CHECK(finds("to:李", R"([{"to":"\u674e"}])"));
  CHECK(finds("to:a:b", R"([{"to":"a:b"}])"));
  CHECK(finds("is:true", R"([{"is":true}])"));
  CHECK(finds("is:null", R"([{"is":null}])"));
  CHECK_FALSE(finds("n:1", R"([{"n":1.0}])"));
  CHECK(finds("ключ:1", R"([{"\u043a\u043b\u044e\u0447":1}])"));
}

TEST_CASE("arg search: a star at the end asks for a beginning") {
  CHECK(finds("to:yo*", R"([{"to":"you"}])"));
  CHECK_FALSE(finds("to:yo*", R"([{"to":"my"}])"));
  const std::string many(10'000, 'y');
  CHECK(finds("to:yy*", R"([{"to":")" + many + R"("}])"));
  CHECK_FALSE(finds("to:yy", R"([{"to":")" + many + R"("}])"));
}

TEST_CASE("arg search: it begins anew") {
  ArgSearch search(path("id:1"));
  CHECK_FALSE(search.read(R"([{"id":)"));
  search.restart();
  CHECK(search.read(R"([{"id":1}])"));
}

TEST_CASE("arg search: a name in quotes may have any signs, and is no number of an element") {
  CHECK(finds(R"("a.b":x)", R"([{"a.b":"x"}])"));
  CHECK_FALSE(finds("a.b:x", R"([{"a.b":"x"}])"));
  CHECK(finds(R"(a."b c":x)", R"([{"a":{"b c":"x"}}])"));
  CHECK(finds(R"("say \"a\\":x)", R"([{"say \"a\\":"x"}])"));
  CHECK(finds(R"("":x)", R"([{"":"x"}])"));
  CHECK(finds(R"("0".id:7)", R"([1,{"0":{"id":7}}])"));
  CHECK_FALSE(finds(R"("0".id:7)", R"([{"id":7}])"));
}

TEST_CASE("arg search: a value in quotes may be empty, have blanks, and end with a star") {
  CHECK(finds(R"(to:"")", R"([{"to":""}])"));
  CHECK_FALSE(finds(R"(to:"")", R"([{"to":"a"}])"));
  CHECK_FALSE(finds(R"(to:"")", R"([{"of":""}])"));
  CHECK(finds(R"(to:"a b")", R"([{"to":"a b"}])"));
  CHECK(finds(R"(to:"a b*")", R"([{"to":"a bc"}])"));
  CHECK(finds(R"(to:"a\*")", R"([{"to":"a*"}])"));
  CHECK_FALSE(finds(R"(to:"a\*")", R"([{"to":"ab"}])"));
  CHECK(finds("to:*", R"([{"to":""}])"));
}

TEST_CASE("arg search: several paths have blanks between them") {
  const auto paths = parse_args(R"( user.id:42  "a b":"c d" x:y )").value();
  REQUIRE(paths.size() == 3);
  CHECK(paths[0].names[1].text == "id");
  CHECK(paths[1].names[0].text == "a b");
  CHECK(paths[1].value == "c d");
  CHECK(paths[2].value == "y");
}

TEST_CASE("arg search: what is not a path and a value") {
  for (const char* const text :
       {"", " ", "user", ":1", "user:", "user.:1", ".id:1", "a..b:1", "a:1 b", "a:b c", "a>b:1",
        R"("a:1)", R"("a"b:1)", R"(a:"b)", R"(a:"b"c)", R"(a:"b\)"}) {
    CHECK_MESSAGE(!parse_args(text), text);
  }
}

}  // namespace
}  // namespace millrace::http
