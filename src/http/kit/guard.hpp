#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/message.hpp"

/// Who may ask for what, decided from a request's head alone.
namespace millrace::http {

struct GuardSettings {
  std::string password;  ///< empty: none is asked for
  bool is_read_only = false;
  std::vector<std::string> hosts;  ///< names that the door goes by, in lower case
};

/// What a request says by HTTP Basic, whatever the user name.
enum class Login {
  kNone,  ///< nothing, or no password is asked for
  kRight,
  kWrong,
};
[[nodiscard]] Login login_of(const Request& request, const GuardSettings& settings);

/// The answer that ends the request, or nullopt when it may go on. Looks at the password, at the
/// name that the door is called by, at where a browser sends a change from, and at what a change's
/// body claims to be.
[[nodiscard]] std::optional<Response> check(const Request& request, const GuardSettings& settings);

/// Adds what every answer carries: browsers run nothing but our own files, keep no data, and show
/// us in no frame.
void harden(Response& response);

/// Equal, in a time that depends on the length of `given` only.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret);

/// True when a page that a browser got under this name (the header `Host`) can only be ours.
/// Without a password a page of somebody else could read and change everything by having its own
/// name lead here (DNS rebinding). Such a name has a dot in it and is not one of `hosts`; numbers,
/// `localhost`, and names of one word, which no public server answers for, cannot be turned so.
[[nodiscard]] bool is_own_host(std::string_view host, const std::vector<std::string>& hosts);

/// Makes a proxy's prefix usable: `/jobs`, without a slash at its end. Empty: there is none, or it
/// is not one.
[[nodiscard]] std::string clean_prefix(std::string_view header);

/// True when the request changes something, if it is granted.
[[nodiscard]] bool is_change(const Request& request);

inline constexpr std::size_t kHeaderBytesMax = 64 * 1024;
inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::size_t kPrefixBytesMax = 200;

}  // namespace millrace::http
