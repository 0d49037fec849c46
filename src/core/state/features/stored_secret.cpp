#include "core/state/features/stored_secret.hpp"

#include "core/model/codec.hpp"

namespace millrace {

void StoredSecret::apply(LockSecretDrawn&& record) {
  secret_ = record.secret;
  place_.write();
}

void StoredSecret::rewrite_oldest(std::string& batch) {
  encode(LockSecretDrawn{.secret = secret_.value()}, batch);
  place_.write();
}

std::uint64_t StoredSecret::live_bytes() const {
  return secret_ ? encoded_bytes(LockSecretDrawn{.secret = *secret_}) : 0;
}

}  // namespace millrace
