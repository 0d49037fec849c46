#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/features/attempt.hpp"
#include "core/model/features/job_features.hpp"
#include "core/model/job.hpp"
#include "core/model/queue.hpp"
#include "core/model/record.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// What is remembered of a job that has ended.
struct FinishedJob {
  JobId id = 0;
  JobKind kind = JobKind::kBytes;
  JobEnd how = JobEnd::kGone;
  std::uint32_t reserves = 0;  ///< how often it was reserved
  ClientId client = 0;         ///< the connection that held it at its end; 0: none did
  Time created_at{};
  Time enqueued_at{};
  Time began_at{};  ///< of its last run, if it ended in one; else the epoch
  Time ended_at{};

  [[nodiscard]] std::string_view queue() const { return text(0, queue_bytes); }
  /// The worker that held it at its end, or empty.
  [[nodiscard]] std::string_view wid() const { return text(queue_bytes, wid_bytes); }
  /// `WorkUnitFormat::name_part`. Empty: it has none, its body was in the log only, or the part is
  /// longer than `JobFinished::kNameBytesMax`.
  [[nodiscard]] std::string_view name() const { return has_name ? rest() : std::string_view{}; }
  /// By which its worker knew it, where `name` is empty.
  [[nodiscard]] std::string_view jid() const { return has_name ? std::string_view{} : rest(); }

  // All texts in one, since it is written for each job that ends: nearly always they fit in here.
  std::array<char, 128> short_texts;
  std::string long_texts;  ///< empty: they are short
  std::uint32_t bytes = 0;
  std::uint32_t queue_bytes = 0;
  std::uint32_t wid_bytes = 0;
  bool has_name = false;
  /// As in `JobFinished`. Those of jobs that ended earlier are dropped when all of them take more
  /// than `FinishedJobs::kDetailBytesMax`.
  Box<Attempts> attempts;
  Box<std::string> args;

 private:
  [[nodiscard]] std::string_view texts() const {
    return long_texts.empty() ? std::string_view(short_texts.data(), bytes) : long_texts;
  }
  [[nodiscard]] std::string_view text(std::size_t at, std::size_t size) const {
    return texts().substr(at, size);
  }
  [[nodiscard]] std::string_view rest() const { return texts().substr(queue_bytes + wid_bytes); }
};

/// As it is in the log.
[[nodiscard]] JobFinished record_of(std::uint64_t number, const FinishedJob& job);

/// The jobs that ended last. It is written for each job that ends, and read by people. Entries are
/// used again, so a full ring allocates nothing for jobs without attempts or arguments.
///
/// They are in memory only, or, where the limits say so, each of them is a record in the log: then
/// this is a live kind, and without that it ignores records. What is in the ring follows from the
/// records, in whatever order they come. So a record that another one has displaced is obsolete.
class FinishedJobs {
 public:
  struct Limits {
    std::size_t jobs_max = 10'000;  ///< 0: nothing is remembered
    Duration age_max = 24h;         ///< what ended earlier is not shown
    bool is_durable = false;        ///< they are in the log

    bool operator==(const Limits&) const = default;
  };
  static constexpr std::size_t kJobsMax = 100'000;  ///< they are searched one by one
  static constexpr Duration kAgeMax = 365 * 24h;
  static constexpr std::size_t kDetailBytesMax = 16 * 1024 * 1024;  ///< attempts and arguments
  static constexpr std::size_t kMessageBytesMax = 256;              ///< of each attempt

  FinishedJobs() = default;
  FinishedJobs(const FinishedJobs&) = delete;
  FinishedJobs& operator=(const FinishedJobs&) = delete;

  /// To be called before the log is read; until then nothing is remembered. What was, is forgotten.
  /// `format` outlives this.
  void begin(const WorkUnitFormat& format, const Limits& limits);

  /// The job is still there, and about to be removed from `queue`. Remembers it in memory only: not
  /// where `is_durable`. `attempts` are those of the job; null: there are none.
  void note(const Job& job, const Queue& queue, JobEnd how, Time now,
            const Attempts* attempts = nullptr);
  /// The same as a record, which is to be committed. Its views are those of the job and the queue.
  [[nodiscard]] JobFinished record_of(const Job& job, const Queue& queue, JobEnd how, Time now,
                                      const Attempts* attempts = nullptr) const;
  [[nodiscard]] bool is_durable() const { return limits_.is_durable; }

  /// A position: how many had ended when the job did. The job that ended first has 1. Some may be
  /// missing, whose records the log lacks.
  using Number = std::uint64_t;
  using Visitor = std::function<bool(Number, const FinishedJob&)>;

  /// Visits those that ended before the one of that number, the latest first, until `visit` answers
  /// false or all were visited.
  void each_before(Number number, Time now, const Visitor& visit) const;
  /// The number for `each_before` to begin with the latest.
  [[nodiscard]] Number end() const { return noted_ + 1; }

  /// Null: it is not remembered.
  [[nodiscard]] const FinishedJob* find(JobId id, Time now) const;
  /// Makes hashes of some jids, of jobs up to that number, for `each_named`. True: all are made.
  bool hash_some_names(Number number) const;
  /// Up to `limit` pushed jobs whose jids have that hash (`WorkUnitFormat::hash_of_name`), the
  /// latest first. Makes the hashes that are not made yet.
  void each_named(std::uint32_t hash, std::size_t limit, Time now,
                  const std::function<void(const FinishedJob&)>& visit) const;

  /// When the first of those ended that are not too old to be shown; nullopt: there is none.
  [[nodiscard]] std::optional<Time> kept_since(Time now) const;
  /// How many are not too old to be shown.
  [[nodiscard]] std::size_t shown(Time now) const;
  /// Those included that are.
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }

  // ---- as a live kind ---------------------------------------------------------------------------

  /// Ignored: a record that is older than all of the ring.
  void apply(JobFinished&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    // Asked for each batch, also where nothing of it is in the log.
    if (is_durable()) log_.place(begin, [](Place) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  /// In the ring.
  using Place = std::uint32_t;
  static constexpr std::size_t kChunk = 256;
  struct Logged {
    LogNode node;
    std::uint32_t bytes = 0;  ///< of the record
  };
  struct Chunk {
    // What is searched, without a look at the jobs.
    std::array<JobId, kChunk> ids{};
    std::array<Number, kChunk> numbers{};        ///< 0: none is there
    std::array<std::uint32_t, kChunk> hashes{};  ///< of jids; see `hash_some_names`
    std::array<FinishedJob, kChunk> jobs;
    std::unique_ptr<std::array<Logged, kChunk>> logged;  ///< where `is_durable`; else null
  };

  /// Of those that are not too old to be shown, the lowest number, or one below it.
  [[nodiscard]] Number first_shown(Time now) const;
  /// The lowest number for which the ring has a place.
  [[nodiscard]] Number oldest() const {
    return noted_ - std::min<Number>(noted_, limits_.jobs_max) + 1;
  }
  [[nodiscard]] Place place_of(Number number) const {
    return static_cast<Place>((number - 1) % limits_.jobs_max);
  }
  [[nodiscard]] const FinishedJob& at(Place place) const {
    return chunks_[place / kChunk]->jobs[place % kChunk];
  }
  [[nodiscard]] Number& number_at(Place place) const {
    return chunks_[place / kChunk]->numbers[place % kChunk];
  }
  /// Of those from `oldest` to `noted_`.
  [[nodiscard]] bool has(Number number) const { return number_at(place_of(number)) == number; }
  [[nodiscard]] bool is_shown(const FinishedJob& job, Time now) const {
    return now - job.ended_at <= limits_.age_max;
  }
  [[nodiscard]] Logged& logged_of(Place place) {
    return (*chunks_[place / kChunk]->logged)[place % kChunk];
  }
  void write(Place place, JobFinished& record);
  void keep_details(FinishedJob& job, Box<Attempts> attempts, Box<std::string> args);
  void skip_to(Number number);
  void make_room(Place place);
  void clear(Place place);
  [[nodiscard]] std::uint32_t hash_of(const FinishedJob& job) const;

  const WorkUnitFormat* format_ = nullptr;  ///< null: it has not begun
  Limits limits_{.jobs_max = 0};
  Number noted_ = 0;       ///< the highest number so far; where it is not 0, that job is there
  std::size_t count_ = 0;  ///< of those that are there
  std::size_t detail_bytes_ = 0;
  Number bare_to_ = 0;  ///< those up to this one have no attempts and no arguments any more
  std::vector<std::unique_ptr<Chunk>> chunks_;
  /// Those up to this one have a hash: few ask, so they are made when somebody does.
  mutable Number hashed_ = 0;

  struct NodeOf {
    FinishedJobs* jobs;
    LogNode& operator()(Place place) const { return jobs->logged_of(place).node; }
  };
  LogOrder<NodeOf> log_{NodeOf{this}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
