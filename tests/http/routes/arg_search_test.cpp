#include "http/routes/arg_search.hpp"

#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool finds(std::string_view wanted, std::string_view args) {
  ArgSearch whole(parse_arg(wanted).value());
  const bool is_found = whole.read(args);
  // In pieces it finds the same.
  ArgSearch in_pieces(parse_arg(wanted).value());
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
  ArgSearch search(parse_arg("id:1").value());
  CHECK_FALSE(search.read(R"([{"id":)"));
  search.restart();
  CHECK(search.read(R"([{"id":1}])"));
}

TEST_CASE("arg search: what is not a path and a value") {
  for (const char* const text : {"", "user", ":1", "user:", "user.:1", ".id:1", "a..b:1"}) {
    CHECK_FALSE(parse_arg(text));
  }
}

}  // namespace
}  // namespace millrace::http
