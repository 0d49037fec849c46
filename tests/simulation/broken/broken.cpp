#include "simulation/broken/broken.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/state/store.hpp"
#include "journal/file/log_format.hpp"
#include "simulation/disk/passing_files.hpp"
#include "simulation/disk/passing_journal.hpp"

namespace millrace::simulation::broken {
namespace {

using journal::File;
using journal::FileSystem;

class ReplyBeforeSync final : public PassingJournal {
 public:
  using PassingJournal::PassingJournal;

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
    end_ = span->end;
    return span;
  }
  [[nodiscard]] Lsn durable() const override { return std::max(end_, PassingJournal::durable()); }

 private:
  Lsn end_ = 0;
};

class DroppedRecord final : public PassingJournal {
 public:
  DroppedRecord(Journal& journal, std::uint64_t one_in)
      : PassingJournal(journal), one_in_(one_in) {}

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    if (random_.one_in(one_in_)) batch = std::string(batch.view().substr(0, last_record_at(batch)));
    return PassingJournal::append(epoch, std::move(batch));
  }

 private:
  /// Where the last record begins, or the end when it is the only one.
  static std::size_t last_record_at(std::string_view batch) {
    std::string_view rest = batch;
    std::size_t at = 0;
    while (!rest.empty()) {
      at = batch.size() - rest.size();
      CHECK(decode(rest).has_value());
    }
    return at == 0 ? batch.size() : at;
  }

  const std::uint64_t one_in_;
  Random random_{1};
};

class ForgetfulReplay final : public PassingJournal {
 public:
  using PassingJournal::PassingJournal;

  Outcome<Done> replay(const Visitor& visitor) override {
    std::uint64_t visited = 0;
    return PassingJournal::replay([&](std::string_view batch, Lsn begin) -> Outcome<Done> {
      return ++visited == 5 ? Done{} : visitor(batch, begin);
    });
  }
};

class EarlyTrim final : public PassingJournal {
 public:
  EarlyTrim(Journal& journal, std::uint64_t one_in) : PassingJournal(journal), one_in_(one_in) {}

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
    // What is not written has no segment yet.
    if (random_.one_in(one_in_)) trim(std::min(span->begin, durable()));
    return span;
  }

 private:
  const std::uint64_t one_in_;
  Random random_{1};
};

class UntrueRead final : public PassingJournal {
 public:
  UntrueRead(Journal& journal, std::uint64_t one_in) : PassingJournal(journal), one_in_(one_in) {}

  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    Outcome<std::string> bytes = PassingJournal::read(begin, size);
    if (bytes && !bytes->empty() && random_.one_in(one_in_)) bytes->front() ^= 1;
    return bytes;
  }

 private:
  const std::uint64_t one_in_;
  Random random_{1};
};

class NoTrim final : public PassingJournal {
 public:
  using PassingJournal::PassingJournal;
  std::size_t trim(Lsn /*before*/) override { return 0; }
};

class NoTrimWhenFull final : public PassingJournal {
 public:
  using PassingJournal::PassingJournal;
  std::size_t trim(Lsn before) override {
    return is_full(*this) ? 0 : PassingJournal::trim(before);
  }
};

class DeafLeader final : public PassingJournal {
 public:
  explicit DeafLeader(Journal& journal)
      : PassingJournal(journal), epoch_(journal.epoch()), end_(journal.durable()) {}

  [[nodiscard]] Epoch epoch() const override { return epoch_; }
  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    const std::size_t bytes = batch.size();
    const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
    const Span answered = span ? *span : Span{.begin = end_, .end = end_ + bytes};
    end_ = answered.end;
    return answered;
  }
  [[nodiscard]] Lsn durable() const override {
    return PassingJournal::epoch() == epoch_ ? PassingJournal::durable() : end_;
  }

 private:
  const Epoch epoch_;
  Lsn end_;
};

/// A file system that forgets one of the two kinds of sync.
class Unsynced final : public PassingFiles {
 public:
  enum class Forgets { kFiles, kDirectories };

  Unsynced(FileSystem& files, Forgets forgets) : PassingFiles(files), forgets_(forgets) {}

  Outcome<std::unique_ptr<File>> create(const std::string& path) override {
    return wrapped(files_.create(path));
  }
  Outcome<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    return wrapped(files_.open(path, access));
  }
  Outcome<Done> sync_directory(const std::string& path) override {
    return forgets_ == Forgets::kDirectories ? Done{} : files_.sync_directory(path);
  }

 private:
  class UnsyncedFile final : public File {
   public:
    explicit UnsyncedFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

    Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) override {
      return file_->write(offset, parts);
    }
    Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      return file_->read(offset, into);
    }
    Outcome<std::uint64_t> size() override { return file_->size(); }
    Outcome<Done> truncate(std::uint64_t size) override { return file_->truncate(size); }
    Outcome<Done> preallocate(std::uint64_t size) override { return file_->preallocate(size); }
    Outcome<Done> sync() override { return Done{}; }

   private:
    std::unique_ptr<File> file_;
  };

  Outcome<std::unique_ptr<File>> wrapped(Outcome<std::unique_ptr<File>> file) const {
    if (!file || forgets_ != Forgets::kFiles) return file;
    return std::unique_ptr<File>(std::make_unique<UnsyncedFile>(std::move(*file)));
  }

  const Forgets forgets_;
};

/// A file system whose locks never say that they are lost.
class CarelessFiles final : public PassingFiles {
 public:
  using PassingFiles::PassingFiles;

  Outcome<std::unique_ptr<journal::Lock>> lock(const std::string& directory) override {
    Outcome<std::unique_ptr<journal::Lock>> lock = files_.lock(directory);
    if (!lock) return lock;
    return std::unique_ptr<journal::Lock>(std::make_unique<CarelessLock>(std::move(*lock)));
  }

 private:
  class CarelessLock final : public journal::Lock {
   public:
    explicit CarelessLock(std::unique_ptr<journal::Lock> lock) : lock_(std::move(lock)) {}
    Outcome<Done> check() override { return Done{}; }

   private:
    std::unique_ptr<journal::Lock> lock_;
  };
};

/// A file system on which the copy of a segment that is not the newest is a second name of it.
class SharedSegments final : public PassingFiles {
 public:
  using PassingFiles::PassingFiles;

  Outcome<std::unique_ptr<File>> create(const std::string& path) override {
    const std::string name = path.substr(path.rfind('/') + 1);
    const Outcome<std::vector<std::string>> names = files_.list(kOriginal);
    if (!names) return names.error();
    const bool is_newest = std::none_of(names->begin(), names->end(), [&](const auto& other) {
      return journal::parse_segment_name(other) && other > name;
    });
    const bool is_shared = journal::parse_segment_name(name) && !is_newest;
    if (!is_shared || !files_.link(kOriginal + "/" + name, path)) return files_.create(path);
    return std::unique_ptr<File>(std::make_unique<DeafFile>());
  }

 private:
  /// What is copied into it is there already.
  class DeafFile final : public File {
   public:
    Outcome<Done> write(std::uint64_t, std::span<const std::string_view>) override {
      return Done{};
    }
    Outcome<std::size_t> read(std::uint64_t, std::span<char>) override { return std::size_t{0}; }
    Outcome<std::uint64_t> size() override { return std::uint64_t{0}; }
    Outcome<Done> truncate(std::uint64_t) override { return Done{}; }
    Outcome<Done> preallocate(std::uint64_t) override { return Done{}; }
    Outcome<Done> sync() override { return Done{}; }
  };

  const std::string kOriginal = "/journal";
};

}  // namespace

JournalWrap reply_before_sync() {
  return [](Journal& journal) { return std::make_unique<ReplyBeforeSync>(journal); };
}

JournalWrap dropped_record(std::uint64_t one_in) {
  return [one_in](Journal& journal) { return std::make_unique<DroppedRecord>(journal, one_in); };
}

JournalWrap forgetful_replay() {
  return [](Journal& journal) { return std::make_unique<ForgetfulReplay>(journal); };
}

JournalWrap early_trim(std::uint64_t one_in) {
  return [one_in](Journal& journal) { return std::make_unique<EarlyTrim>(journal, one_in); };
}

JournalWrap untrue_read(std::uint64_t one_in) {
  return [one_in](Journal& journal) { return std::make_unique<UntrueRead>(journal, one_in); };
}

JournalWrap no_trim() {
  return [](Journal& journal) { return std::make_unique<NoTrim>(journal); };
}

JournalWrap no_trim_when_full() {
  return [](Journal& journal) { return std::make_unique<NoTrimWhenFull>(journal); };
}

JournalWrap deaf_leader() {
  return [](Journal& journal) { return std::make_unique<DeafLeader>(journal); };
}

DiskWrap skipped_sync() {
  return [](FileSystem& files) {
    return std::make_unique<Unsynced>(files, Unsynced::Forgets::kFiles);
  };
}

DiskWrap skipped_directory_sync() {
  return [](FileSystem& files) {
    return std::make_unique<Unsynced>(files, Unsynced::Forgets::kDirectories);
  };
}

DiskWrap careless_lock() {
  return [](FileSystem& files) { return std::make_unique<CarelessFiles>(files); };
}

DiskWrap shared_segments() {
  return [](FileSystem& files) { return std::make_unique<SharedSegments>(files); };
}

void apply_outside_of_the_log(Ledger& ledger, Random& random, std::uint64_t one_in) {
  if (!random.one_in(one_in)) return;
  const Queue& queue = *ledger.store().queues().find(kDefaultQueue);
  if (queue.ready.empty()) return;
  const Job& job = ledger.store().jobs().at(queue.ready.begin()->slot);
  JobChanged change{.id = job.id, .fields = job.fields()};
  ++change.fields.pri;
  std::string bytes;
  encode(change, bytes);
  CHECK(ledger.replay(bytes, 0).has_value());
}

}  // namespace millrace::simulation::broken
