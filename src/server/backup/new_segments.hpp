#pragma once

#include <optional>
#include <string>
#include <vector>

#include "journal/file/backup.hpp"
#include "server/backup/manifest.hpp"
#include "server/backup/tar.hpp"
#include "server/tools/progress_line.hpp"

namespace millrace::server {

/// A file of a backup that was read from end to end.
struct ReadFile {
  BackupFile file;
  std::optional<Time> told;  ///< by its last batch that tells the time
};

/// The first `bytes` bytes of the segment at `path`. A problem names it, if it is damaged.
[[nodiscard]] Outcome<ReadFile> read_file(const std::string& path, Lsn first, std::uint64_t bytes);

/// The backup that another one goes on with.
struct EarlierBackup {
  const BackupManifest* manifest = nullptr;  ///< null: there is none
  std::string name = {};                     ///< in problems
  bool is_of_other_log = false;              ///< by its writer, see `LogStarts`
};

/// Takes of a log what an earlier backup does not have. Refuses a log that is not the one of that
/// backup: by the bytes of the last segment that both have, or by its writer where both have none.
class NewSegments : public journal::BackupTarget {
 public:
  /// The manifest must outlive this.
  explicit NewSegments(EarlierBackup since) : since_(std::move(since)) {}

  Outcome<Done> begin() override;
  Outcome<Done> put(const journal::BackupPart& part) final;

  /// To be called after all parts: refuses a log that ends before the earlier backup does.
  [[nodiscard]] Outcome<Done> check_end(const std::vector<journal::BackupPart>& parts) const;

 protected:
  virtual Outcome<Done> take(const journal::BackupPart& part) = 0;

 private:
  [[nodiscard]] Outcome<bool> is_new(const journal::BackupPart& part) const;
  [[nodiscard]] Outcome<bool> is_longer(const journal::BackupPart& part) const;
  [[nodiscard]] Problem differs(const std::string& path) const;

  EarlierBackup since_;
  bool is_first_ = true;
  ProgressLine progress_{"copied", 0, ProgressLine::Unit::kBytes};
  std::uint64_t taken_bytes_ = 0;
};

/// Puts them into a directory. Each file gets its name when it is whole.
class NewFiles final : public NewSegments {
 public:
  NewFiles(EarlierBackup since, std::string directory)
      : NewSegments(std::move(since)), directory_(std::move(directory)) {}

  Outcome<Done> begin() override;

  /// Reads what was taken.
  [[nodiscard]] Outcome<std::vector<ReadFile>> read() const;

 private:
  Outcome<Done> take(const journal::BackupPart& part) override;

  std::string directory_;
  std::vector<journal::BackupPart> taken_;
};

/// Sends them as they are read.
class SentFiles final : public NewSegments {
 public:
  /// `out` must outlive this.
  SentFiles(EarlierBackup since, TarWriter& out) : NewSegments(std::move(since)), out_(out) {}

  Outcome<Done> begin() override;

  [[nodiscard]] const std::vector<ReadFile>& sent() const { return sent_; }

 private:
  Outcome<Done> take(const journal::BackupPart& part) override;

  TarWriter& out_;
  std::vector<ReadFile> sent_;
};

/// A file under this name is being written.
[[nodiscard]] std::string draft_of(const std::string& path);

}  // namespace millrace::server
