#include "server/web/web_logins.hpp"

#include <sodium.h>

#include "base/check.hpp"

namespace millrace::server {
namespace {

std::array<unsigned char, 32> random_key() {
  std::array<unsigned char, 32> key{};
  CHECK(sodium_init() >= 0);
  randombytes_buf(key.data(), key.size());
  return key;
}

/// Of a password that nobody has: so a user who is not there takes as long as one who is.
constexpr const char* kHashOfNobody =
    "$argon2id$v=19$m=65536,t=2,p=1$mRD8BCdwMVGUv/R2Ofoa7Q$K57K74"
    "BUmRWV0pRN/lfw4NwfoUNIne/XNOdn0DD+iLU";

}  // namespace

WebLogins::WebLogins(access::SharedUsers users) : users_(std::move(users)), key_(random_key()) {}

void WebLogins::set(access::SharedUsers users) {
  known_.clear();
  users_ = std::move(users);
}

std::string WebLogins::digest_of(const http::Credentials& said) const {
  std::array<unsigned char, 32> digest{};
  // A name has no colon.
  const std::string text = said.user + ':' + said.password;
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), key_.data(),
                     key_.size());
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::optional<access::Caller> WebLogins::known(const http::Credentials& said) const {
  const auto found = known_.find(digest_of(said));
  if (found == known_.end()) return std::nullopt;
  return access::Caller(users_, *found->second);
}

std::optional<WebLogins::Check> WebLogins::begin(const http::Credentials& said,
                                                 const std::string& from) {
  if (checked_.count(from) >= kWebChecksOfAddressMax || checked_.size() >= kWebChecksMax) {
    return std::nullopt;
  }
  checked_.insert(from);
  Check check;
  check.said_ = said;
  check.from_ = from;
  const access::User* const user = users_ ? users_->find(said.user) : nullptr;
  if (user != nullptr) check.hashes_ = user->web_passwords;
  return check;
}

void WebLogins::Check::work() {
  const auto is_of = [&](const std::string& hash) {
    return crypto_pwhash_str_verify(hash.c_str(), said_.password.data(), said_.password.size()) ==
           0;
  };
  if (hashes_.empty()) (void)is_of(kHashOfNobody);
  for (const std::string& hash : hashes_) is_right_ = is_of(hash) || is_right_;
}

std::optional<access::Caller> WebLogins::finish(const Check& check) {
  checked_.erase(checked_.find(check.from_));
  // Those of now: a reload may have come in between.
  const access::User* const user = users_ ? users_->find(check.said_.user) : nullptr;
  const bool is_right = check.is_right_ && user != nullptr && user->web_passwords == check.hashes_;
  if (!is_right) return std::nullopt;
  if (known_.size() >= kWebLoginsMax) known_.clear();
  known_.insert_or_assign(digest_of(check.said_), user);
  return access::Caller(users_, *user);
}

}  // namespace millrace::server
