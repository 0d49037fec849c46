#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::cli {

/// Where the web port of a server is.
struct ServerUrl {
  bool is_https = false;
  std::string host = "127.0.0.1";  ///< an IPv6 address without brackets
  int port = 7420;
  std::string path;  ///< under which a proxy has the server, as `/jobs`; mostly empty
  std::string user;
  std::string password;  ///< empty: none

  /// Without user and password, for messages: `http://127.0.0.1:7420`.
  [[nodiscard]] std::string shown() const;
};

/// Reads `[http[s]://][USER[:PASSWORD]@]HOST[:PORT][/PATH]`. The default ports are 80 and 443, as
/// for every URL, and without a scheme that of Millrace. A problem does not repeat the text, which
/// may hold a password.
[[nodiscard]] Outcome<ServerUrl> parse_server_url(std::string_view text);

}  // namespace millrace::cli
