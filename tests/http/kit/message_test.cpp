#include "http/kit/message.hpp"

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("message: a header or parameter that is absent is empty") {
  Request request;
  request.headers["host"] = "a";
  request.params = {{"cursor", "7"}};
  CHECK(request.header("host") == "a");
  CHECK(request.header("origin") == "");
  CHECK(request.param("cursor") == "7");
  CHECK(request.param("limit") == "");
}

TEST_CASE("message: a refusal is JSON, and says which methods there are") {
  CHECK(refuse(404, "no \"such\" page").body == R"({"error":"no \"such\" page"})");
  CHECK(refuse(404, "no such page").status == 404);
  const Response method = refuse_method("GET, HEAD", "not by POST");
  CHECK(method.status == 405);
  CHECK(method.headers.at("Allow") == "GET, HEAD");
  CHECK(refuse_for_room().status == 503);
}

}  // namespace millrace::http
