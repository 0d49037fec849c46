#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// A secret with which a program uses the API for a user. Of the secret only the hash is kept. The
/// times are those of the wall clock.
struct Token {
  std::string hash;  ///< `kTokenHashBytes`, without which nothing else is told of it
  std::string name;  ///< UTF-8; no two tokens of a user have one name
  std::string user;
  std::uint8_t may = 0;             ///< `access::Rights::bits`
  std::vector<std::string> queues;  ///< patterns, as users have them
  Time made_at{};
  Time expires_at{};

  [[nodiscard]] bool has_expired(Time wall) const { return wall >= expires_at; }
  /// How people and the API call it: the first bytes of the hash, in hexadecimal digits.
  [[nodiscard]] std::string id() const;

  bool operator==(const Token&) const = default;
};

inline constexpr std::size_t kTokensMax = 1000;
inline constexpr std::size_t kTokensOfUserMax = 100;
inline constexpr std::size_t kTokenHashBytes = 32;
inline constexpr std::size_t kTokenIdBytes = 6;  ///< of the hash
inline constexpr std::size_t kTokenNameBytesMax = 100;
/// Of the name of its user, and of a pattern, where they are read.
inline constexpr std::size_t kTokenTextBytesMax = 300;
inline constexpr std::size_t kTokenQueuesMax = 20;

}  // namespace millrace
