#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "journal/posix/descriptor.hpp"
#include "tools/import/binlog_reader.hpp"

namespace millrace::tools {

/// A job that is in the log: not deleted since.
struct BinlogJob {
  /// As a restart of beanstalkd would have it. Never deleted, never reserved.
  BinlogRecord record;
  std::uint32_t tube = 0;       ///< place in `Binlog::tubes`
  std::uint32_t file = 0;       ///< place in `Binlog::files`
  std::uint64_t buried_at = 0;  ///< place in the order of burials
};

/// What beanstalkd would find in its directory after a restart. It does better in four points: a
/// long job does not end its file, a body that was not written to its end is no job, a burial is
/// not counted once more, and buried jobs keep their order as far as the log has it.
///
/// Changes nothing in the directory, and keeps beanstalkd from starting on it as long as it lives.
/// Keeps no bodies in memory.
class Binlog {
 public:
  /// Reads all files of the directory, also damaged ones. A problem: there are none, one is of
  /// another version, or a beanstalkd uses the directory.
  [[nodiscard]] static Outcome<Binlog> read(journal::FileSystem& files,
                                            const std::string& directory);

  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] const std::vector<std::string>& tubes() const { return tubes_; }

  /// In the order of their bodies in the files.
  [[nodiscard]] std::vector<const BinlogJob*> jobs() const;

  /// The greatest id in the log.
  [[nodiscard]] JobId last_id() const { return last_id_; }
  [[nodiscard]] bool has_jobs() const { return !jobs_.empty(); }

  /// Where a record was not written to its end, a line each. Nobody was told that it was.
  [[nodiscard]] const std::vector<std::string>& torn() const { return torn_; }
  /// What could not be read, a line each.
  [[nodiscard]] const std::vector<std::string>& damages() const { return damages_; }

 private:
  explicit Binlog(journal::Descriptor lock) : lock_(std::move(lock)) {}

  /// The file that is the last in `files_`.
  [[nodiscard]] Outcome<Done> read_file(journal::FileSystem& files, bool is_newest);
  void take(const BinlogRecord& record, std::uint32_t file);
  [[nodiscard]] std::uint32_t tube_of(std::string_view name);

  journal::Descriptor lock_;
  std::vector<std::string> files_;
  std::vector<std::string> tubes_;
  absl::flat_hash_map<std::string, std::uint32_t> tube_places_;
  absl::flat_hash_map<JobId, BinlogJob> jobs_;
  std::uint64_t burials_ = 0;
  JobId last_id_ = 0;
  std::vector<std::string> torn_;
  std::vector<std::string> damages_;
};

/// The contents of a file. Files are as long as beanstalkd makes them (10 MiB, unless told
/// otherwise), and are read at once.
[[nodiscard]] Outcome<std::string> read_whole_file(journal::FileSystem& files,
                                                   const std::string& path);

/// No file of a binlog is longer: beanstalkd's `-s` is less than 2 GiB, and so is a job.
inline constexpr std::uint64_t kBinlogBytesMax = std::uint64_t{4} << 30;

}  // namespace millrace::tools
