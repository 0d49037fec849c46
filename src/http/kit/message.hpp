#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/model/types.hpp"
#include "http/kit/json.hpp"

/// HTTP as the handlers see it: no socket, no thread.
namespace millrace::http {

struct Request {
  std::string method = "GET";
  std::string path;    ///< decoded, without query
  std::string prefix;  ///< what a reverse proxy has put before it (`X-Script-Name`), or empty
  std::multimap<std::string, std::string> params;  ///< of the query
  bool has_broken_escape = false;  ///< in its address, which then says what nobody can mean
  std::map<std::string, std::string> headers;  ///< by name in lower case
  std::string body;
  /// The members of the body, each once, where a change has them: see `prepare`.
  Json members = Json::object();

  /// Empty: absent, or empty.
  [[nodiscard]] std::string_view header(const std::string& name) const;
  [[nodiscard]] std::string_view param(const std::string& name) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
  bool is_change = false;  ///< it may leave only when everything recorded so far is durable
  /// Writes a body that takes long to write, from what it holds itself: to be called outside of the
  /// broker's thread. Empty: `body` is there.
  std::function<std::string()> write_body = {};
  /// What there is to look at would hold the broker for too long in one go: to be called in its
  /// thread in another turn, once, for the answer or for one more part. Empty: this is the answer.
  std::function<Response(Time now)> go_on = {};
};

/// The error that the API answers: `{"error": text}`.
[[nodiscard]] Response refuse(int status, std::string_view text);

/// 405; `allowed`: the methods that may be used there, "GET, HEAD".
[[nodiscard]] Response refuse_method(std::string_view allowed, std::string_view text);

/// What the API answers to `Refusal::kNoRoom`.
[[nodiscard]] Response refuse_for_room();

}  // namespace millrace::http
