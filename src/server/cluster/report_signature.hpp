#pragma once

#include <string>
#include <string_view>

namespace millrace::server {

/// Shows that the sender of a report knows the password, without telling it: 64 hexadecimal digits
/// (HMAC-SHA-256). Without a password, anybody can sign.
[[nodiscard]] std::string sign_report(std::string_view report, std::string_view password);

}  // namespace millrace::server
