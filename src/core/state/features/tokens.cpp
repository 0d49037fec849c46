#include "core/state/features/tokens.hpp"

#include <utility>

namespace millrace {

const Token* Tokens::find(std::string_view hash) const {
  const auto found = slots_.find(hash);
  return found == slots_.end() ? nullptr : tokens_[found->second].record.token.get();
}

const Token* Tokens::find_by_id(std::string_view id) const {
  for (const auto& [hash, slot] : slots_) {
    const Token& token = *tokens_[slot].record.token;
    if (token.id() == id) return &token;
  }
  return nullptr;
}

void Tokens::apply(TokenAdded&& record) {
  const auto [place, is_new] = slots_.try_emplace(record.token->hash);
  if (is_new) {
    place->second = tokens_.allocate();
  } else {
    leave_log(place->second);
  }
  tokens_[place->second].record = std::move(record);
  enter_log(place->second);
}

void Tokens::apply(TokenRemoved&& record) {
  const auto found = slots_.find(record.hash);
  if (found == slots_.end()) return;
  leave_log(found->second);
  tokens_.free(found->second);
  slots_.erase(found);
}

}  // namespace millrace
