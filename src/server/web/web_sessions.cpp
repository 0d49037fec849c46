#include "server/web/web_sessions.hpp"

#include <sodium.h>

#include <array>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

std::string random_secret() {
  CHECK(sodium_init() >= 0);
  std::array<unsigned char, 32> bits{};
  randombytes_buf(bits.data(), bits.size());
  constexpr int kForm = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_encoded_len(bits.size(), kForm), '\0');
  sodium_bin2base64(text.data(), text.size(), bits.data(), bits.size(), kForm);
  text.pop_back();  // its zero
  return text;
}

std::string digest_of_secret(std::string_view secret) {
  std::array<unsigned char, 32> digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), nullptr,
                     0);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

http::NewSecret draw_token() {
  std::string text = std::string(http::kTokenPrefix) + random_secret();
  std::string hash = digest_of_secret(text);
  return {.text = std::move(text), .hash = std::move(hash)};
}

void WebSessions::set(access::SharedUsers users) {
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    Session& session = each->second;
    const access::User* const same = users ? users->find(session.user->name) : nullptr;
    if (same == nullptr || *same != *session.user) {
      sessions_.erase(each++);
      continue;
    }
    session.user = same;
    ++each;
  }
  users_ = std::move(users);
}

std::string WebSessions::begin(const access::User& user, Moment now) {
  absl::erase_if(sessions_, [now](const auto& each) { return each.second.is_over(now); });
  make_room(&user, kOfUserMax);
  make_room(nullptr, kMax);
  std::string id = random_secret();
  sessions_.emplace(digest_of_secret(id), Session{.user = &user, .began = now, .used = now});
  return id;
}

/// For one more. `user`: null: of all.
void WebSessions::make_room(const access::User* user, std::size_t max) {
  std::size_t count = 0;
  auto oldest = sessions_.end();
  for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
    if (user != nullptr && each->second.user != user) continue;
    ++count;
    if (oldest == sessions_.end() || each->second.used < oldest->second.used) oldest = each;
  }
  if (count >= max) sessions_.erase(oldest);
}

std::optional<access::Caller> WebSessions::find(std::string_view id, Moment now) {
  const auto found = sessions_.find(digest_of_secret(id));
  if (found == sessions_.end()) return std::nullopt;
  if (found->second.is_over(now)) {
    sessions_.erase(found);
    return std::nullopt;
  }
  found->second.used = now;
  return access::Caller(users_, *found->second.user);
}

}  // namespace millrace::server
