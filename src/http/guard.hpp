#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"

/// Who may ask for what, decided from a request's head alone.
namespace millrace::http {

struct GuardSettings {
  std::string password;  ///< empty: none is asked for
  bool is_read_only = false;
};

/// The answer that ends the request, or nullopt when it may go on. Looks at the password (HTTP
/// Basic, any user name), at where a browser sends a change from, and at what a change's body
/// claims to be.
[[nodiscard]] std::optional<Response> check(const Request& request, const GuardSettings& settings);

/// Adds what every answer carries: browsers run nothing but our own files, keep no data, and show
/// us in no frame.
void harden(Response& response);

/// Equal, in a time that depends on the length of `given` only.
[[nodiscard]] bool is_same_secret(std::string_view given, std::string_view secret);

/// Makes a proxy's prefix usable: `/jobs`, without a slash at its end. Empty: there is none, or it
/// is not one.
[[nodiscard]] std::string clean_prefix(std::string_view header);

/// True when the request changes something, if it is granted.
[[nodiscard]] bool is_change(const Request& request);

inline constexpr std::size_t kHeaderBytesMax = 64 * 1024;
inline constexpr std::size_t kPathBytesMax = 4096;
inline constexpr std::size_t kPrefixBytesMax = 200;

}  // namespace millrace::http
