#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/choice.hpp"
#include "cli/exit.hpp"

namespace httplib {
class ClientImpl;
class Result;
}  // namespace httplib

namespace millrace::cli {

/// Members keep the order in which the server wrote them.
using Json = nlohmann::ordered_json;

/// An answer with a status of success.
struct Answer {
  Json json;
  std::string body;         ///< the same as bytes
  std::string as_of;        ///< `X-As-Of`
  std::string instance;     ///< `X-Instance`
  std::int64_t now_ms = 0;  ///< the server's clock
};

/// One server's JSON API, over one connection. Messages have neither the password nor the token.
class Api {
 public:
  explicit Api(const Choice& choice);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// `target`: what follows /api/v1/, with its query.
  [[nodiscard]] Reply<Answer> get(const std::string& target);
  /// `body`: JSON. `instance`: the change is refused when the server was restarted since; empty: it
  /// is made all the same.
  [[nodiscard]] Reply<Answer> post(const std::string& target, const std::string& body,
                                   const std::string& instance = {});

  /// What the very server at that address says of itself, also one that answers no clients. All
  /// other questions a standby passes on to the leader.
  [[nodiscard]] Reply<Answer> health();

  /// The same as `get` of what is no JSON.
  [[nodiscard]] Reply<std::string> bytes(const std::string& target);

  [[nodiscard]] const std::string& shown_url() const { return shown_url_; }

 private:
  [[nodiscard]] Reply<Answer> read(const httplib::Result& result);

  [[nodiscard]] Failure unreachable(const std::string& why) const;

  ServerUrl url_;
  std::string shown_url_;
  std::string ca_file_;
  bool has_password_;
  bool has_token_;
  bool has_answered_ = false;
  std::unique_ptr<httplib::ClientImpl> client_;
};

/// A name as a part of a path: queues may be called `.` and `..`, which servers on the way would
/// remove.
[[nodiscard]] std::string path_part(std::string_view name);

/// Adds `name=value` to a query, with `?` or `&` before it.
void add_parameter(std::string& target, std::string_view name, std::string_view value);

}  // namespace millrace::cli
