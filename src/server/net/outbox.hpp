#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

namespace millrace::server {

/// The replies of one connection that were not sent yet, in the order of their commands, each with
/// the log position that must be durable before it may leave.
class Outbox {
 public:
  /// Moves `output` to the end and leaves it empty, with a small buffer that can be used again.
  /// `lsn` is not smaller than at the last call.
  void take(std::string& output, Lsn lsn);

  /// What may be sent when everything before `durable` is durable. Valid until the next call.
  [[nodiscard]] std::string_view covered(Lsn durable) const;

  /// The first `size` bytes were sent.
  void consume(std::size_t size);

  void clear();

  [[nodiscard]] bool is_empty() const { return sent_ == bytes_.size(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size() - sent_; }

 private:
  struct Mark {
    Lsn lsn;
    std::uint64_t end;  ///< counted from the first byte that this outbox ever held
  };

  std::string bytes_;
  std::size_t sent_ = 0;           ///< so much of `bytes_` is gone
  std::uint64_t bytes_begin_ = 0;  ///< where `bytes_` begins, counted like `Mark::end`
  absl::InlinedVector<Mark, 1> marks_;
};

}  // namespace millrace::server
