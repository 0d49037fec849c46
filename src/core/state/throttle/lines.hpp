#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/model/job.hpp"
#include "core/model/order.hpp"
#include "core/model/queue.hpp"

namespace millrace {

class Lines;
class ThrottleTable;
struct Throttle;

/// Where a line comes among those of its queue.
struct LineRank {
  std::uint64_t turn = 0;  ///< of its key
  ReadyEntry first{};      ///< its first job

  friend bool operator<(const LineRank& a, const LineRank& b) {
    return a.turn != b.turn ? a.turn < b.turn : a.first < b.first;
  }
};

struct JobKey;
struct LineGroup;

/// Ready jobs of one key and one type.
struct Line {
  LineGroup* group = nullptr;
  JobKey* key = nullptr;
  ReadyOrder jobs;
  LineRank rank;         ///< while it is open
  bool is_open = false;  ///< it has a job, and its key has a free slot
};

/// The jobs of a queue with one `custom.throttle_key`. It is here as long as it has ready or
/// running jobs.
struct JobKey {
  Lines* owner = nullptr;
  std::string text;         ///< empty: the jobs without a key, which have no limit
  std::uint64_t turn = 0;   ///< when it last had one, or its first ready job came
  std::uint32_t taken = 0;  ///< running jobs that count
  bool is_closed = false;   ///< it was found full, and no slot became free since
  absl::btree_map<LineGroup*, std::unique_ptr<Line>> lines;
};

/// The lines of one limited type, or of all other jobs.
struct LineGroup {
  Throttle* type = nullptr;  ///< null: jobs whose type is not limited, or was not looked at
  absl::btree_set<std::pair<LineRank, Line*>> open;
  std::uint32_t line_count = 0;
  LineRank rank;             ///< while it is open
  bool is_open = false;      ///< it has an open line, and is not parked
  std::uint64_t parked = 0;  ///< its ticket in `Throttle::parked`; 0: it is not there
};

/// How much is in lines of all queues.
struct LineCounts {
  std::size_t jobs = 0;
  std::size_t keys = 0;

  /// About what it takes in memory, by what 300,000 jobs with few and with as many keys took.
  [[nodiscard]] std::size_t memory_bytes() const { return jobs * 20 + keys * 310; }
};

/// The ready jobs of a queue once more, in lines: for a queue whose first job may have to wait
/// while a later one need not, since the limit of its type or of its key is reached.
///
/// `Queue::ready` is the order that counts, and this is derived from it. There are two forms:
///
/// * With keys, all ready jobs are in lines, one for each key, and keys with a free slot take
///   turns. Before they are complete, the queue hands out nothing.
/// * Without keys, only jobs are in lines that were passed over since their type is full. The rest
///   of the queue is looked at as far as clients ask for it. Such lines are made when the first job
///   is passed over, and end with the last one.
///
/// Which type a job has is asked when it comes to the front, since its body says so.
class Lines {
 public:
  /// All of them outlive this. Without keys they are complete at once.
  Lines(ThrottleTable& table, LineCounts& counts, const Queue& queue, bool has_keys);
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  [[nodiscard]] bool has_keys() const { return has_keys_; }

  // A job has entered `Queue::ready`, or has left it.
  void enter(const Job& job, const ReadyEntry& entry);
  /// A job that comes back at once was only changed: its key keeps its turn.
  void leave(const Job& job, const ReadyEntry& entry, bool comes_back);

  /// Whether each ready job is where it belongs.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  /// Puts a slice of the ready jobs into lines. `job_in` answers the job in a slot.
  void complete_some(absl::FunctionRef<const Job&(JobSlot)> job_in);

  struct Next {
    std::optional<ReadyEntry> job;
    bool is_cut = false;  ///< a slice of the jobs was passed over, and the rest not looked at
  };
  /// The limits of a job's type; null: it has none, or nothing of it runs and nothing was passed
  /// over.
  using TypeOf = absl::FunctionRef<Throttle*(JobSlot)>;
  /// The job to be handed out next. At most `per_key` of a key run at a time; 0: any number.
  [[nodiscard]] Next next(std::uint32_t per_key, TypeOf type_of, Time now);
  /// A job of this key was handed out: it comes last now.
  void take_turn(const Job& job);

  /// Not one job is passed over: a queue without keys needs no lines.
  [[nodiscard]] bool is_idle() const { return !has_keys_ && skipped_.empty(); }
  /// Jobs are ready, and each is of a key or a type that is full, as far as they were looked at.
  [[nodiscard]] bool is_blocked() const { return open_.empty() && !queue_.ready.empty(); }
  /// Null: it has neither ready nor running jobs.
  [[nodiscard]] const JobKey* find(std::string_view key) const;
  [[nodiscard]] std::size_t key_count() const { return keys_.size(); }

  // ---- slots ------------------------------------------------------------------------------------

  /// The key of a job that runs; null: it has none.
  [[nodiscard]] JobKey* take_slot(const Job& job);
  /// The key may be gone then.
  void give_back(JobKey& key);
  /// The limit was raised: keys that were full may not be any more.
  void open_keys();

  /// The group of this type is no longer parked.
  void unpark(const Throttle& type);

  // ---- the end ----------------------------------------------------------------------------------

  /// Nothing leads to it any more but `clear_some`, which answers whether all is cleared: a million
  /// entries are not freed at once.
  void dismiss();
  [[nodiscard]] bool clear_some();

 private:
  void insert(Line& line, const ReadyEntry& entry);
  bool erase(Line& line, const ReadyEntry& entry);
  [[nodiscard]] JobKey& open_key(std::string_view text);
  [[nodiscard]] Line& open_line(LineGroup& group, JobKey& key);
  [[nodiscard]] LineGroup& open_group(Throttle& type);
  [[nodiscard]] std::string_view key_of(const Job& job) const;
  [[nodiscard]] bool is_looked_at(const ReadyEntry& entry) const;
  [[nodiscard]] std::optional<ReadyEntry> first_of(const Line& line) const;
  void begin_turn(JobKey& key);
  void settle(Line& line);
  void settle(LineGroup& group);
  void settle(JobKey& key);
  void collect_kept();
  void collect(Line& line);
  void collect(JobKey& key);
  void collect(LineGroup& group);
  void skip(Line& line, const ReadyEntry& entry, Throttle& type);
  void park(LineGroup& group, Time now);
  [[nodiscard]] bool unpark_earlier(Throttle& type);
  void open_key_again(JobKey& key);

  ThrottleTable& table_;
  LineCounts& counts_;
  const Queue& queue_;
  bool has_keys_;
  bool is_complete_ = false;
  /// Ready jobs up to this one are in lines; without keys, later ones are not.
  std::optional<ReadyEntry> looked_to_;
  std::uint64_t turn_ = 0;

  absl::btree_map<std::string, std::unique_ptr<JobKey>, std::less<>> keys_;
  absl::btree_set<JobKey*> closed_;
  LineGroup rest_;
  absl::btree_map<const Throttle*, std::unique_ptr<LineGroup>> types_;
  absl::btree_set<std::pair<LineRank, LineGroup*>> open_;
  /// The jobs in lines of limited types.
  absl::btree_map<ReadyEntry, Line*> skipped_;
  /// The line that a job has left that comes back at once; else null.
  Line* kept_ = nullptr;
};

}  // namespace millrace
