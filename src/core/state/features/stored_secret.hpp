#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// The secret of the locks, once one was wanted. It stays for as long as the log.
class StoredSecret {
 public:
  [[nodiscard]] const std::optional<LockSecret>& get() const { return secret_; }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(LockSecretDrawn&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return place_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) { place_.place(begin); }
  [[nodiscard]] std::uint64_t live_bytes() const;
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  std::optional<LockSecret> secret_;
  LonePlace place_;
};

}  // namespace millrace
