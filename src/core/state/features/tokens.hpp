#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// The tokens of users, by their hashes. They stay when they expire, and when their user is gone:
/// whoever looks one up says what it is worth.
class Tokens : public LiveRecords<Tokens> {
 public:
  /// Null: there is none.
  [[nodiscard]] const Token* find(std::string_view hash) const;
  /// By `Token::id`.
  [[nodiscard]] const Token* find_by_id(std::string_view id) const;
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  /// In the order of the hashes. `visit` must not change the tokens.
  void each(auto&& visit) const {
    for (const auto& [hash, slot] : slots_) visit(*tokens_[slot].record.token);
  }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(TokenAdded&& record);
  /// Of a token that is not there, this does nothing.
  void apply(TokenRemoved&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  friend LiveRecords;
  struct Stored {
    TokenAdded record;
    LogNode log;
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return tokens_[slot].log; }
  [[nodiscard]] const TokenAdded& record_in(Slot slot) const { return tokens_[slot].record; }

  Slab<Stored> tokens_;
  absl::btree_map<std::string, Slot, std::less<>> slots_;
};

}  // namespace millrace
