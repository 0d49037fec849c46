#include <absl/functional/function_ref.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "core/model/types.hpp"
#include "faktory/json/text.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "tools/import/faktory/faktory_job.hpp"
#include "tools/import/faktory/faktory_keys.hpp"
#include "tools/import/faktory/faktory_source.hpp"
#include "tools/import/faktory/redis.hpp"
#include "tools/import/faktory/snapshot_server.hpp"
#include "tools/import/import.hpp"
#include "tools/import/import_target.hpp"
#include "tools/peers/transfer_table.hpp"

namespace millrace::tools {
namespace {

/// Takes one entry of a list or a sorted set; `score` of a set's, as a time. The text is good until
/// it returns. A problem ends the walk.
using EntryTaker = absl::FunctionRef<Outcome<Done>(std::string_view entry, Time score)>;

constexpr std::uint64_t kFirstPageEntries = 16;
constexpr std::uint64_t kPageEntriesMax = 512;
constexpr std::uint64_t kPageBytes = std::uint64_t{1} << 20;

/// How many entries are asked for at once: as many as have a megabyte, by those that came last.
class PageSize {
 public:
  [[nodiscard]] std::uint64_t entries() const { return entries_; }

  void see(const redisReply& page) {
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i < page.elements; ++i) bytes += page.element[i]->len;
    const std::uint64_t fit = kPageBytes * std::max<std::uint64_t>(page.elements, 1) / bytes;
    entries_ = std::clamp<std::uint64_t>(fit, 1, std::min(entries_ * 4, kPageEntriesMax));
  }

 private:
  std::uint64_t entries_ = kFirstPageEntries;
};

/// Seconds since 1970 with a fraction. What does not fit becomes the nearest time that does.
Time time_of_score(std::string_view score) {
  constexpr double kSecondsMax = 9e9;
  const double seconds = std::clamp(parse_number<double>(score).value_or(0), 0.0, kSecondsMax);
  return Time{std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))};
}

/// The entries from `begin` up to `end`, in the order of the walk.
struct EntryRange {
  std::uint64_t begin;
  std::uint64_t end;
};

/// A walk over all entries of a key. While one page is taken, Redis writes the next one.
class EntryWalk {
 public:
  EntryWalk(Redis& redis, const std::string& key, bool is_list)
      : redis_(redis), key_(key), is_list_(is_list) {}

  Outcome<Done> run(EntryTaker take) {
    const auto length = redis_.ask({is_list_ ? "LLEN" : "ZCARD", key_});
    if (!length) return length.error();
    if ((*length)->type != REDIS_REPLY_INTEGER) return changed();
    length_ = static_cast<std::uint64_t>((*length)->integer);
    std::optional<EntryRange> next = ask_from(0);
    while (next) {
      const EntryRange now = *next;
      const auto page = redis_.receive();
      if (!page) return page.error();
      if ((*page)->type != REDIS_REPLY_ARRAY) return changed();
      if ((*page)->elements != (now.end - now.begin) * (is_list_ ? 1 : 2)) return changed();
      size_.see(**page);
      next = ask_from(now.end);
      if (auto taken = take_page(**page, take); !taken) return taken;
    }
    return Done{};
  }

 private:
  [[nodiscard]] Problem changed() const {
    return Problem{redis_.name() + ": " + key_ +
                   " was changed while it was read: stop Faktory, and run it again"};
  }

  std::optional<EntryRange> ask_from(std::uint64_t begin) {
    if (begin >= length_) return std::nullopt;
    const EntryRange range{.begin = begin, .end = std::min(begin + size_.entries(), length_)};
    if (is_list_) {
      // New jobs are at the front.
      redis_.send({"LRANGE", key_, std::to_string(length_ - range.end),
                   std::to_string(length_ - range.begin - 1)});
    } else {
      redis_.send({"ZRANGE", key_, std::to_string(range.begin), std::to_string(range.end - 1),
                   "WITHSCORES"});
    }
    return range;
  }

  Outcome<Done> take_page(const redisReply& page, EntryTaker take) const {
    const std::size_t step = is_list_ ? 1 : 2;
    for (std::size_t i = 0; i < page.elements; i += step) {
      const std::size_t at = is_list_ ? page.elements - 1 - i : i;
      const Time score = is_list_ ? Time{} : time_of_score(text_of_reply(*page.element[at + 1]));
      if (auto taken = take(text_of_reply(*page.element[at]), score); !taken) return taken;
    }
    return Done{};
  }

  Redis& redis_;
  const std::string& key_;
  const bool is_list_;
  std::uint64_t length_ = 0;
  PageSize size_;
};

/// Walks over a list of Faktory from its end, which is the oldest job. Nobody may change it
/// meanwhile. Of the entries some are in memory, of about a megabyte together, while Redis reads
/// the next ones.
Outcome<Done> each_of_list(Redis& redis, const std::string& key, EntryTaker take) {
  return EntryWalk(redis, key, true).run(take);
}

/// The same over a sorted set, the smallest scores first.
Outcome<Done> each_of_sorted_set(Redis& redis, const std::string& key, EntryTaker take) {
  return EntryWalk(redis, key, false).run(take);
}

/// The Redis that has the jobs: Faktory's, or one of our own with a copy of its snapshot.
struct FaktoryDatabase {
  std::string name;
  std::optional<Redis> theirs;
  std::optional<SnapshotServer> ours;

  [[nodiscard]] Redis& redis() { return ours ? ours->redis() : *theirs; }
};

Outcome<FaktoryDatabase> open_database(const ImportChoice& choice) {
  auto source = parse_faktory_source(choice.faktory);
  if (!source) return source.error();
  FaktoryDatabase database{.name = source->name()};
  if (source->kind == FaktorySource::Kind::kFile) {
    auto server = SnapshotServer::start({.snapshot = source->path,
                                         .search_path = choice.search_path,
                                         .temporary_folder = choice.temporary_folder});
    if (!server) return server.error();
    database.ours.emplace(std::move(*server));
    return database;
  }
  if (source->password.empty()) source->password = choice.redis_password;
  source->ca_file = choice.ca_file;
  auto redis = Redis::connect(*source, database.name);
  if (!redis) return redis.error();
  database.theirs.emplace(std::move(*redis));
  return database;
}

bool is_fit_queue_name(std::string_view name) {
  return faktory::is_queue_name(name) && name.size() <= kQueueNameBytesMax;
}

class FaktoryImport {
 public:
  FaktoryImport(Redis& redis, const FaktoryKeys& keys, ImportTarget& target, bool keeps_working)
      : redis_(redis),
        keys_(keys),
        target_(target),
        reader_(target, keeps_working),
        next_id_(target.id_shift() + 1) {}

  /// Those that workers had come first: they were taken first.
  Outcome<Done> write_all() {
    if (auto written = write_set(FaktoryState::kWorking); !written) return written;
    for (const auto& [name, queue] : keys_.queues) {
      for (const std::string& key : queue.lists) {
        if (auto written = write_list(key, name); !written) return written;
      }
    }
    for (const auto state :
         {FaktoryState::kScheduled, FaktoryState::kRetries, FaktoryState::kDead}) {
      if (auto written = write_set(state); !written) return written;
    }
    return write_rest();
  }

  [[nodiscard]] const TransferTable& table() const { return table_; }
  [[nodiscard]] JobId next_id() const { return next_id_; }
  [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }
  /// Empty: nothing is unreadable.
  [[nodiscard]] const std::string& an_unreadable_key() const { return unreadable_key_; }

 private:
  Outcome<Done> write_list(const std::string& key, const std::string& queue) {
    return each_of_list(redis_, key, [&](std::string_view text, Time) {
      return write({.state = FaktoryState::kEnqueued, .text = text, .queue = queue}, key);
    });
  }

  Outcome<Done> write_set(FaktoryState state) {
    const std::string key(state_name(state));
    if (!keys_.sorted_sets.contains(key)) return Done{};
    return each_of_sorted_set(redis_, key, [&](std::string_view text, Time score) {
      return write({.state = state, .text = text, .queue = {}, .score = score}, key);
    });
  }

  Outcome<Done> write(const FaktoryEntry& entry, const std::string& key) {
    auto job = reader_.read(entry);
    const std::string_view state = state_name(entry.state);
    if (!job) {
      const FaktoryRefusal& refusal = job.error();
      table_.add_refused(refusal.queue.empty() ? "?" : refusal.queue, state, refusal.reason);
      if (!refusal.is_unreadable) return Done{};
      ++unreadable_;
      unreadable_key_ = key;
      return Done{};
    }
    table_.add_taken(job->queue, state);
    const JobId id = next_id_++;
    job->fields.sequence = id;
    return target_.add(JobAdded{
        .id = id, .queue = job->queue, .body = job->body, .fields = std::move(job->fields)});
  }

  Outcome<Done> write_rest() {
    for (const auto& [name, queue] : keys_.queues) {
      if (!is_fit_queue_name(name)) continue;
      const auto record = target_.state().kept_queue(name, queue.is_paused);
      if (auto added = target_.add(record); !added) return added;
    }
    target_.count_runs(keys_.processed, keys_.failed, keys_.days);
    return Done{};
  }

  Redis& redis_;
  const FaktoryKeys& keys_;
  ImportTarget& target_;
  FaktoryJobReader reader_;
  TransferTable table_{{.queue = "queue"}};
  JobId next_id_;
  std::uint64_t unreadable_ = 0;
  std::string unreadable_key_;
};

std::string totals_line(const FaktoryKeys& keys) {
  return "runs: " + std::to_string(keys.processed) + " processed, " + std::to_string(keys.failed) +
         " of them failed, " + http::count_of(keys.days.size(), "day") + "\n";
}

std::string paused_line(const FaktoryKeys& keys) {
  constexpr std::size_t kShownPausedBytes = 1000;
  std::string names;
  for (const auto& [name, queue] : keys.queues) {
    if (queue.is_paused && is_fit_queue_name(name)) names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? names : "paused: " + one_line(names, kShownPausedBytes) + "\n";
}

JournalReport report_of(const FaktoryImport& import, const FaktoryKeys& keys,
                        const ImportChoice& choice, std::uint64_t others) {
  JournalReport report{.text = import.table().text(), .damage = import.table().damage()};
  report.text += totals_line(keys) + paused_line(keys);
  if (keys.other_keys > 0) {
    report.text += "left alone: " + http::count_of(keys.other_keys, "key") + ", such as " +
                   keys.an_other_key + "\n";
  }
  if (others > 0) {
    report.text += "warning: " + http::count_of(others, "other client") +
                   (others == 1 ? " is" : " are") +
                   " connected to that Redis; what they change from now on is not imported\n";
  }
  report.text += "next: start a server with the data directory " + choice.into + "\n";
  if (report.damage && import.unreadable() > 0) {
    *report.damage += "; " + http::grouped(import.unreadable()) +
                      " of them cannot be read as jobs, the last one of the key " +
                      import.an_unreadable_key();
  }
  return report;
}

}  // namespace

Outcome<JournalReport> import_faktory(const ImportChoice& choice) {
  auto database = open_database(choice);
  if (!database) return database.error();
  Redis& redis = database->redis();
  const auto before = read_redis_version(redis);
  if (!before) return before.error();
  const auto keys = read_faktory_keys(redis, choice.ignores_other_keys);
  if (!keys) return keys.error();
  journal::PosixFileSystem files;
  auto target = ImportTarget::open(
      files,
      {.directory = choice.into, .source = "Faktory's " + database->name, .merges = choice.merges});
  if (!target) return target.error();
  FaktoryImport import(redis, *keys, **target, choice.keeps_working);
  if (auto written = import.write_all(); !written) return written.error();
  const auto after = read_redis_version(redis);
  if (!after) return after.error();
  if (*after != *before) {
    return Problem{database->name +
                   " was changed while it was read: stop Faktory, or its clients, and run it "
                   "again"};
  }
  if (auto ended = (*target)->finish(import.next_id()); !ended) return ended.error();
  return report_of(import, *keys, choice, count_other_clients(redis));
}

}  // namespace millrace::tools
