#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/message.hpp"

/// Decides from the head of a request alone whether it may go on.
namespace millrace::http {

struct GuardSettings {
  std::string password;  ///< empty: none is asked for
  bool is_read_only = false;
  bool checks_host = true;                  ///< where no password is asked for
  std::vector<std::string> hosts;           ///< names of this server, in lower case
  std::string hosts_option = "--web-host";  ///< what adds to `hosts`, for people
};

/// Whether a request brings the password (HTTP Basic). The user name does not matter.
enum class Login {
  kNone,  ///< nothing, or no password is asked for
  kRight,
  kWrong,
};
[[nodiscard]] Login login_of(const Request& request, const GuardSettings& settings);
/// Who the client says it is, when it gives a password; else empty.
[[nodiscard]] std::string user_of(const Request& request);

/// The answer that ends the request; nullopt: it may go on. Looks at the password, at the name in
/// `Host`, at the site from which a browser sends a change, and at the type of a change's body.
[[nodiscard]] std::optional<Response> check(const Request& request, const GuardSettings& settings);

/// Adds the headers of every answer: browsers run only our own files, keep no data, and show our
/// pages in no frame.
void harden(Response& response);

/// Compares in a time that depends on the length of `given` only.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret);

/// True when a page that a browser got under this name (the header `Host`) can only be ours.
/// Without a password, the page of another site could read and change everything: its name only has
/// to lead to our address (DNS rebinding). Such a name has a dot in it and is not one of `hosts`.
/// Numbers, `localhost` and names of one word cannot be used so, since no public name server
/// answers for them.
[[nodiscard]] bool is_own_host(std::string_view host, const std::vector<std::string>& hosts);

/// A proxy's prefix, `/jobs`, without a slash at its end. Empty: there is none, or it is no path.
[[nodiscard]] std::string clean_prefix(std::string_view header);

/// True when the request would change something.
[[nodiscard]] bool is_change(const Request& request);
/// Whether a page of the web UI has sent it.
[[nodiscard]] bool is_from_page(const Request& request);

inline constexpr std::size_t kHeaderBytesMax = 64 * 1024;
inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::size_t kPrefixBytesMax = 200;

}  // namespace millrace::http
