#pragma once

#include <array>
#include <string>
#include <string_view>

namespace millrace::server {

/// HMAC-SHA-256, as 64 hexadecimal digits.
[[nodiscard]] std::string hmac_of(std::string_view key, std::string_view text);

/// What the reports of nodes are signed with. It comes from the password by scrypt, which takes a
/// tenth of a second and 32 MiB: so does each guess of somebody who has captured a report. Without
/// a password anybody can sign, and nothing takes long.
class ReportKey {
 public:
  explicit ReportKey(std::string_view password);

  /// Shows that the sender of a report knows the password, without telling it: `2:` and 64
  /// hexadecimal digits (HMAC-SHA-256).
  [[nodiscard]] std::string sign(std::string_view report) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace millrace::server
