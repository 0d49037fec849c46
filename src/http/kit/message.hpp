#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "access/users.hpp"
#include "core/model/types.hpp"
#include "core/ports/push_in_parts.hpp"
#include "http/kit/json.hpp"

/// HTTP as the handlers see it: no socket, no thread.
namespace millrace::http {

struct Request {
  std::string method = "GET";
  std::string from;                    ///< the client's address
  access::Caller caller = {};          ///< for whom it is; nobody until one is named
  std::string identified_by = "none";  ///< how its user was identified: "password", "session",
                                       ///< "token"
  std::string token_hash = {};         ///< of the token that it comes with; empty: of none
  bool is_encrypted = false;           ///< by TLS, here or by the proxy
  std::string target;  ///< path and query as they were sent; "/" if they were not visible ASCII
  std::string path;    ///< decoded, without query
  std::string prefix;  ///< that a reverse proxy has put before it (`X-Script-Name`), or empty
  std::multimap<std::string, std::string> params;  ///< of the query
  bool has_broken_escape = false;                  ///< its address has a % without two digits
  std::map<std::string, std::string> headers;      ///< by name in lower case
  std::set<std::string> repeated;                  ///< headers that came more than once
  std::string body;
  /// The members of the body of a change, each once: see `prepare`.
  Json members = Json::object();
  /// Not null: the body was a long job, and is in here. Shared: requests are copied.
  std::shared_ptr<PushInParts> long_push = {};

  /// Empty: it is absent or empty. `name` of a header is in lower case.
  [[nodiscard]] std::string_view header(const std::string& name) const;
  [[nodiscard]] std::string_view param(const std::string& name) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;
  bool is_change = false;       ///< it may leave only when everything recorded before it is durable
  bool is_wrong_login = false;  ///< it counts against the client's address
  /// What a change has changed, for people: before → after, or which jobs. May be empty.
  std::string changed = {};
  /// Writes a body that takes long to write, from data of its own: to be called outside of the
  /// broker's thread. Empty: the body is in `body`.
  std::function<std::string()> write_body = {};
  /// Goes on with an answer that would take the broker's thread for too long in one turn. To be
  /// called once, in that thread, in a later turn; it returns the answer or one more part of it.
  /// Empty: this is the answer.
  std::function<Response(Time now)> go_on = {};
  /// To be called before `go_on`, outside of the broker's thread: works on data of its own. May be
  /// empty.
  std::function<void()> meanwhile = {};
};

/// The error that the API answers: `{"error": text}`. `code`: a name for programs, where a status
/// means several things; empty: none.
[[nodiscard]] Response refuse(int status, std::string_view text, std::string_view code = {});

/// The code of 403: the user has no right to.
inline constexpr std::string_view kNotAllowed = "not_allowed";

/// 405; `allowed`: the methods that may be used there, "GET, HEAD".
[[nodiscard]] Response refuse_method(std::string_view allowed, std::string_view text);

/// What the API answers to `Refusal::kNoRoom`.
[[nodiscard]] Response refuse_for_room();

}  // namespace millrace::http
