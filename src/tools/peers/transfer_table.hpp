#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/model/types.hpp"

namespace millrace::tools {

/// What an import or an export found, by queue and state, and what became of it.
class TransferTable {
 public:
  /// The heads of its columns.
  struct Words {
    std::string queue;  ///< what the source calls a queue
    std::string taken = "taken";
    std::string refused = "not taken";
  };
  explicit TransferTable(Words words) : words_(std::move(words)) {}

  /// The job was taken.
  void add_taken(std::string_view queue, std::string_view state) { row(queue, state).taken += 1; }
  /// So many jobs were not, for this reason.
  void add_refused(std::string_view queue, std::string_view state, std::string_view reason,
                   std::uint64_t count = 1) {
    row(queue, state).refused[std::string(reason)] += count;
  }

  /// A damage for the report, when some jobs were not taken.
  [[nodiscard]] std::optional<std::string> damage() const;

  /// A line for each row, by queue and state, and one with the sums.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::uint64_t taken = 0;
    std::map<std::string, std::uint64_t> refused;  ///< by reason

    [[nodiscard]] std::uint64_t found() const;
    [[nodiscard]] std::string why() const;
  };
  /// Of all rows.
  struct Sums {
    std::uint64_t taken = 0;
    std::uint64_t refused = 0;
  };
  Row& row(std::string_view queue, std::string_view state);
  [[nodiscard]] Sums sums() const;

  const Words words_;
  std::map<std::string, std::map<std::string, Row, std::less<>>, std::less<>> rows_;
};

/// The line of a report that says what became of the ids of jobs.
[[nodiscard]] std::string ids_text(JobId shift);

}  // namespace millrace::tools
