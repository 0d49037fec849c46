#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/record.hpp"

namespace millrace {

/// Takes the records of a batch off its front, some at a time: a batch can be long, and a decoded
/// record takes more memory than its bytes. The head of an entry of a shared log is passed over.
/// The batch must outlive the records, whose views point into it.
class BatchReader {
 public:
  static constexpr std::size_t kRecordsMax = 256;

  explicit BatchReader(std::string_view batch) : batch_(batch), rest_(batch) {}

  [[nodiscard]] bool is_done() const { return rest_.empty(); }

  /// The next ones, at most `kRecordsMax`. Those that add a job have their `body_at`, within the
  /// batch.
  [[nodiscard]] Outcome<std::vector<Record>> next();

 private:
  std::string_view batch_;
  std::string_view rest_;
};

}  // namespace millrace
