#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "access/users.hpp"
#include "base/result.hpp"
#include "server/net/address.hpp"
#include "server/options/config.hpp"

namespace millrace::server {

/// Whose the beanstalk clients of a port are, since their protocol has no login.
struct UserListener {
  std::optional<Address> address;             ///< nullopt: the port of `--beanstalk`
  std::string user;                           ///< empty: by `uids`
  std::map<std::uint32_t, std::string> uids;  ///< of processes that come to a unix socket

  bool operator==(const UserListener&) const = default;
};

/// What `--users` names: who may do what.
struct UsersFile {
  access::SharedUsers users;  ///< null: there is no such file
  std::vector<UserListener> listeners;
  std::vector<std::string> warnings;  ///< `FILE:LINE: what`; nothing is refused for them

  /// Null: there is none.
  [[nodiscard]] const UserListener* listener_at(const std::optional<Address>& address) const;
};

/// Reads the file and the secrets that it names, whose relative paths begin in its folder. A
/// problem begins with `FILE:LINE: `. Refused: a file that other users of the machine can read, for
/// who may do what is a secret of its own.
[[nodiscard]] Outcome<UsersFile> read_users_file(const std::string& path);

/// Whether the listeners fit the other options: for only a unix socket knows whose process comes,
/// and a standby passes clients on, whose users its leader would not know.
[[nodiscard]] Outcome<Done> check_listeners(const UsersFile& users, const Config& config,
                                            bool has_beanstalk_port);

inline constexpr std::size_t kUsersMax = 1000;
inline constexpr std::size_t kUserNameBytesMax = 64;

}  // namespace millrace::server
