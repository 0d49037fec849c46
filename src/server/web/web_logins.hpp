#pragma once

#include <array>
#include <asio/thread_pool.hpp>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "access/users.hpp"
#include "base/text_map.hpp"
#include "http/kit/guard.hpp"

namespace millrace::server {

/// Checks the passwords of users (argon2id), which takes a tenth of a second and 64 MiB. So a right
/// one is remembered, by a hash that needs a key of this process, until the users change.
class WebLogins {
 public:
  explicit WebLogins(access::SharedUsers users);

  /// Other users: all is forgotten.
  void set(access::SharedUsers users);

  /// nullopt: nobody knows, so it must be checked.
  [[nodiscard]] std::optional<access::Caller> known(const http::Credentials& said) const;

  /// One check: begun and finished by the port's thread, and worked on by any.
  class Check {
   public:
    void work();

   private:
    friend class WebLogins;
    http::Credentials said_;
    std::string from_;
    std::vector<std::string> hashes_;  ///< of that user; of one that is not there a made up one
    bool is_right_ = false;
  };
  /// nullopt: too many are being checked, of this address or in all.
  [[nodiscard]] std::optional<Check> begin(const http::Credentials& said, const std::string& from);
  /// nullopt: it is wrong, or the user has other passwords by now.
  [[nodiscard]] std::optional<access::Caller> finish(const Check& check);

  /// The thread that checks, one after the other.
  [[nodiscard]] asio::thread_pool& thread() { return thread_; }

 private:
  [[nodiscard]] std::string digest_of(const http::Credentials& said) const;

  access::SharedUsers users_;
  const std::array<unsigned char, 32> key_;
  TextMap<const access::User*> known_;
  std::multiset<std::string> checked_;  ///< the addresses of those that are being checked
  asio::thread_pool thread_{1};
};

/// How many may be checked at a time, of one address and in all.
inline constexpr std::size_t kWebChecksOfAddressMax = 2;
inline constexpr std::size_t kWebChecksMax = 16;

/// How many are remembered.
inline constexpr std::size_t kWebLoginsMax = 1000;

}  // namespace millrace::server
