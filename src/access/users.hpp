#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/rights.hpp"
#include "base/text_map.hpp"

/// Who may do what. The file that says it is read by `server/options/users_file`.
namespace millrace::access {

/// These rights for the queues that match one of the patterns: `*`, `?` and `[...]` as in file
/// names (POSIX, fnmatch).
struct Grant {
  std::vector<std::string> queues;
  Rights may;

  [[nodiscard]] Rights rights_for(const std::string& queue) const;
  [[nodiscard]] Rights rights_everywhere() const;
  bool operator==(const Grant&) const = default;
};

struct User {
  std::string name;
  std::vector<Grant> grants;
  /// For Faktory clients, whose handshake needs the text. At most `kSecretsMax`, so that one can be
  /// replaced by another.
  std::vector<std::string> secrets;
  /// For browsers and the API: hashes as libsodium writes them (`$argon2id$...`). As many.
  std::vector<std::string> web_passwords;

  /// What it may do with this queue.
  [[nodiscard]] Rights rights_for(std::string_view queue) const;
  /// With all queues, also those that do not exist yet: by the pattern `*`.
  [[nodiscard]] Rights rights_everywhere() const;
  /// With at least one queue that may exist.
  [[nodiscard]] Rights rights_anywhere() const;

  bool operator==(const User&) const = default;
};

inline constexpr std::size_t kSecretsMax = 2;

/// Secrets of Faktory clients are compared with a hash that whoever listens can try them on, and
/// all of them are tried for each login: they are long, so few rounds of the hash will do.
inline constexpr std::size_t kSecretBytesMin = 16;

/// A proxy that has people log in, and says in a header who they are. Its word counts when the
/// connection comes from one of these addresses.
struct TrustedProxy {
  std::string header;                  ///< in lower case; empty: there is none
  std::vector<std::string> addresses;  ///< as `inet_ntop` writes them, or `unix socket`

  [[nodiscard]] bool is_at(std::string_view address) const;
  bool operator==(const TrustedProxy&) const = default;
};

/// All users. It does not change: a reload makes another one.
class Users {
 public:
  /// No two have one name.
  explicit Users(std::vector<User> users, TrustedProxy proxy = {});

  [[nodiscard]] const std::vector<User>& all() const { return users_; }
  /// Null: there is no such user.
  [[nodiscard]] const User* find(std::string_view name) const;

  /// A secret of a Faktory client, and whose it is.
  struct Secret {
    std::string_view text;
    const User* user;
  };
  [[nodiscard]] const std::vector<Secret>& secrets() const { return secrets_; }
  [[nodiscard]] const TrustedProxy& proxy() const { return proxy_; }

 private:
  std::vector<User> users_;
  TrustedProxy proxy_;
  TextMap<const User*> by_name_;
  std::vector<Secret> secrets_;
};

/// Shared by those whose connections began while it was in force. Null: there are no users, and
/// everybody may do everything.
using SharedUsers = std::shared_ptr<const Users>;

/// For whom something is done: a user, or the server itself and, where there are no users, anybody.
/// For one thread.
class Caller {
 public:
  /// Nobody has said who it is: it may do nothing.
  Caller() = default;
  /// May do everything.
  [[nodiscard]] static Caller everybody() {
    Caller caller;
    caller.is_limited_ = false;
    return caller;
  }
  /// `user` is of `users`. `secret`: the one of the user's that it has logged in with, if by one.
  Caller(SharedUsers users, const User& user, std::string_view secret = {})
      : users_(std::move(users)),
        user_(&user),
        anywhere_(user.rights_anywhere()),
        secret_(secret) {}
  /// From now on it may do at most this as well: it has a token of the user's.
  void limit(Grant grant);
  [[nodiscard]] bool has_token() const { return token_ != nullptr; }

  [[nodiscard]] bool is_limited() const { return is_limited_; }
  /// Empty: nobody in particular.
  [[nodiscard]] std::string_view name() const { return user_ ? user_->name : std::string_view(); }

  [[nodiscard]] bool may(Right right, std::string_view queue) const {
    return !is_limited_ || rights_for(queue).has(right);
  }
  [[nodiscard]] bool may_everywhere(Right right) const {
    return !is_limited_ || rights_everywhere().has(right);
  }
  [[nodiscard]] bool may_anywhere(Right right) const {
    return !is_limited_ || anywhere_.has(right);
  }

  /// The patterns of the queues for which the user has the right; empty: of all, or of none. Of a
  /// token its own ones, where the user has fewer queues too.
  [[nodiscard]] std::vector<std::string> patterns(Right right) const;
  /// Whether it may certainly do this with every queue that matches the pattern. False for some
  /// patterns with `[` or `?` where it may.
  [[nodiscard]] bool may_all_of(Right right, const std::string& pattern) const;

  /// The user is in these as well, has the same rights, and the secret still counts.
  [[nodiscard]] bool is_unchanged_in(const SharedUsers& users) const;

 private:
  [[nodiscard]] Rights rights_for(std::string_view queue) const;
  [[nodiscard]] Rights rights_everywhere() const;

  SharedUsers users_;
  const User* user_ = nullptr;  ///< null: nobody, or everybody
  Rights anywhere_;             ///< for at least one queue that may exist
  bool is_limited_ = true;
  std::string_view secret_;
  std::shared_ptr<const Grant> token_;  ///< null: it has none; shared by the copies
  /// By queue: patterns take longer. Bounded by `kKnownQueuesMax`.
  mutable TextMap<Rights> known_;
  /// The queue that was asked for last, which is mostly the next one too.
  mutable std::string last_queue_;
  mutable Rights last_rights_;
};

}  // namespace millrace::access
