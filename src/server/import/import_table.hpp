#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::server {

/// What an import found, by queue and state, and what became of it.
class ImportTable {
 public:
  /// `queue_word`: what the source calls a queue.
  explicit ImportTable(std::string_view queue_word) : queue_word_(queue_word) {}

  /// The job was taken.
  void add_taken(std::string_view queue, std::string_view state) { row(queue, state).taken += 1; }
  /// The job was not, for this reason.
  void add_refused(std::string_view queue, std::string_view state, std::string_view reason) {
    ++row(queue, state).refused[std::string(reason)];
  }

  [[nodiscard]] std::uint64_t taken() const;

  /// A line for each row, by queue and state, and one with the sums.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::uint64_t taken = 0;
    std::map<std::string, std::uint64_t> refused;  ///< by reason

    [[nodiscard]] std::uint64_t found() const;
    [[nodiscard]] std::string why() const;
  };
  Row& row(std::string_view queue, std::string_view state);

  std::string queue_word_;
  std::map<std::string, std::map<std::string, Row, std::less<>>, std::less<>> rows_;
};

}  // namespace millrace::server
