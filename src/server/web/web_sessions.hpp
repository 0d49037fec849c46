#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "access/users.hpp"
#include "base/text_map.hpp"
#include "http/kit/guard.hpp"

namespace millrace::server {

/// 256 random bits as text: base64url, without padding.
[[nodiscard]] std::string random_secret();
/// What is kept of it: its hash needs no rounds and no salt, for nobody can guess so many bits.
/// It is looked up by that, so the time of a lookup tells nothing of the secret.
[[nodiscard]] std::string digest_of_secret(std::string_view secret);

/// A new one of a token.
[[nodiscard]] http::NewSecret draw_token();

/// Who has logged in by the form, until the process ends. Of an id only the hash is kept.
class WebSessions {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  explicit WebSessions(access::SharedUsers users) : users_(std::move(users)) {}

  /// Other users: the sessions of those that are as they were go on.
  void set(access::SharedUsers users);

  /// The id of a new session, for the browser. The user is one of those in force. Of too many, the
  /// one that was idle longest ends: of this user, or of all.
  [[nodiscard]] std::string begin(const access::User& user, Moment now);

  /// nullopt: there is none, or it has ended. Else it was used now.
  [[nodiscard]] std::optional<access::Caller> find(std::string_view id, Moment now);

  void end(std::string_view id) { sessions_.erase(digest_of_secret(id)); }

  [[nodiscard]] std::size_t size() const { return sessions_.size(); }

  static constexpr std::size_t kOfUserMax = 20;
  static constexpr std::size_t kMax = 2000;
  static constexpr auto kIdleMax = std::chrono::minutes(30);
  static constexpr auto kLengthMax = std::chrono::hours(12);

 private:
  struct Session {
    const access::User* user;  ///< of `users_`
    Moment began;
    Moment used;

    [[nodiscard]] bool is_over(Moment now) const {
      return now >= used + kIdleMax || now >= began + kLengthMax;
    }
  };

  void make_room(const access::User* user, std::size_t max);

  access::SharedUsers users_;
  TextMap<Session> sessions_;  ///< by the hash of the id
};

}  // namespace millrace::server
