#pragma once

#include <optional>
#include <string>
#include <vector>

#include "journal/file/backup.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/backup/tar.hpp"
#include "tools/directory/progress_line.hpp"

namespace millrace::tools {

/// A file of a backup that was read from end to end.
struct ReadFile {
  BackupFile file;
  std::optional<Time> told;    ///< by its last batch that tells the time
  std::optional<Time> latest;  ///< that any batch tells: the clock may have been set back
};

/// The first `bytes` bytes of the segment at `path`. A problem names it, if it is damaged.
[[nodiscard]] Outcome<ReadFile> read_file(const std::string& path, Lsn first, std::uint64_t bytes);

/// Takes of a log what an earlier backup does not have. Refuses a log that does not have the bytes
/// of that backup, as far as both have any.
class NewSegments : public journal::BackupTarget {
 public:
  /// `since`: of the earlier backup, which is called `name` in problems; null: there is none. It
  /// must outlive this.
  NewSegments(const BackupManifest* since, std::string name)
      : since_(since), name_(std::move(name)) {}

  Outcome<Done> begin() override;
  Outcome<Done> put(const journal::BackupPart& part) final;

  /// To be called after all parts: refuses a log that ends before the earlier backup does.
  [[nodiscard]] Outcome<Done> check_end(const std::vector<journal::BackupPart>& parts) const;

  /// What was taken, read from end to end.
  [[nodiscard]] virtual Outcome<std::vector<ReadFile>> read() const = 0;

 protected:
  virtual Outcome<Done> take(const journal::BackupPart& part) = 0;

 private:
  [[nodiscard]] Outcome<bool> is_new(const journal::BackupPart& part) const;
  [[nodiscard]] Outcome<bool> is_longer(const journal::BackupPart& part) const;
  [[nodiscard]] Problem differs(const std::string& path) const;

  const BackupManifest* since_;
  std::string name_;
  bool is_first_ = true;
  ProgressLine progress_{"copied", 0, ProgressLine::Unit::kBytes};
  std::uint64_t taken_bytes_ = 0;
};

/// Puts them into a directory. Each file gets its name when it is whole.
class NewFiles final : public NewSegments {
 public:
  NewFiles(const BackupManifest* since, std::string name, std::string directory)
      : NewSegments(since, std::move(name)), directory_(std::move(directory)) {}

  Outcome<Done> begin() override;

  [[nodiscard]] Outcome<std::vector<ReadFile>> read() const override;

 private:
  Outcome<Done> take(const journal::BackupPart& part) override;

  std::string directory_;
  std::vector<journal::BackupPart> taken_;
};

/// Sends them as they are read.
class SentFiles final : public NewSegments {
 public:
  /// `out` must outlive this.
  SentFiles(const BackupManifest* since, std::string name, TarWriter& out)
      : NewSegments(since, std::move(name)), out_(out) {}

  Outcome<Done> begin() override;

  [[nodiscard]] Outcome<std::vector<ReadFile>> read() const override { return sent_; }

 private:
  Outcome<Done> take(const journal::BackupPart& part) override;

  TarWriter& out_;
  std::vector<ReadFile> sent_;
};

}  // namespace millrace::tools
