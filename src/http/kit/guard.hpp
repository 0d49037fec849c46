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
  std::string password;            ///< empty: none is asked for
  access::SharedUsers users = {};  ///< not null: their passwords count
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
  kTooMany,  ///< nobody knows: too many passwords are being checked, or tokens cannot be
  kNoUser,   ///< the proxy names somebody who is no user
};
[[nodiscard]] Login login_of(const Request& request, const GuardSettings& settings);

/// What a client says: nobody has checked it.
struct Credentials {
  std::string user;
  std::string password;
};
[[nodiscard]] std::optional<Credentials> credentials_of(const Request& request);
/// Who the client says it is, when it gives a password; else empty.
[[nodiscard]] std::string user_of(const Request& request);

/// What a program gives as its token (`Authorization: Bearer`, RFC 6750); nullopt: it gives none.
[[nodiscard]] std::optional<std::string_view> bearer_of(const Request& request);
/// Whether it has the form of a token: `mrt_`, and 256 bits in base64url.
[[nodiscard]] bool is_token_text(std::string_view text);
inline constexpr std::string_view kTokenPrefix = "mrt_";
inline constexpr std::string_view kWrongToken = "the token is unknown, has expired or was revoked";

struct NewSecret {
  std::string text;
  std::string hash;  ///< that is kept of it
};

/// Where there are users, people log in by a form, and their browser is known by a cookie then.
inline constexpr const char* kLoginPath = "/login";
inline constexpr const char* kLogoutPath = "/logout";

/// Whether the request has the form's fields `name` and `password` as its body.
[[nodiscard]] bool is_form(const Request& request, const GuardSettings& settings);
[[nodiscard]] bool is_logout(const Request& request, const GuardSettings& settings);
/// The form; `problem`: why it is shown again, or empty.
[[nodiscard]] Response show_form(const Request& request, int status, std::string_view problem);
/// To the page that was asked for first.
[[nodiscard]] Response lead_on(const Request& request);

/// The answer that ends the request; nullopt: it may go on. Looks at what came of the login, at the
/// name in `Host`, at the site from which a browser sends a change, and at the type of a change's
/// body.
[[nodiscard]] std::optional<Response> check(const Request& request, const GuardSettings& settings,
                                            Login login);

/// Health, the manual, and what the page to log in is made of.
[[nodiscard]] bool is_open_to_all(const Request& request);

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
/// Of the body with the fields of the form.
inline constexpr std::size_t kFormBytesMax = 4096;

}  // namespace millrace::http
