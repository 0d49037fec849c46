#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Appends lines to the file of `--audit-log`, in a thread of its own: nobody waits for its disk.
/// Lines that cannot be written are counted, and the first failure in a row is logged.
class AuditFile {
 public:
  /// So much waits for the disk; lines that come then are lost.
  static constexpr std::size_t kWaitingBytesMax = 4 << 20;
  /// For so long the end of the process waits for the disk.
  static constexpr auto kPatience = std::chrono::seconds(2);

  /// `log` outlives this.
  explicit AuditFile(const Log& log);
  /// Writes what waits.
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Makes the file if it is not there. Until then lines are dropped.
  [[nodiscard]] Outcome<Done> open(const std::string& path);

  void write(std::string line);

  /// The file may have been moved away: a new one is made, before the next line.
  void reopen();

  [[nodiscard]] bool is_open() const { return shared_ != nullptr; }
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Shared;

  const Log& log_;
  /// Shared with the thread, which may outlive this. Null: the file is not open.
  std::shared_ptr<Shared> shared_;
};

}  // namespace millrace::server
