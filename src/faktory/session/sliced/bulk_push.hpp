#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/rope.hpp"
#include "core/model/types.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/json/array_cutter.hpp"
#include "faktory/json/minifier.hpp"
#include "faktory/session/shared.hpp"
#include "faktory/session/sliced/sliced_command.hpp"

namespace millrace::faktory {

/// The jobs of a PUSHB that were read, and what comes of them.
class JobList {
 public:
  explicit JobList(PushStart start) : start_(std::move(start)) {}

  /// Checks a job that was read by the rules of PUSH.
  void take(const JobMembers& members, const Shared& shared);
  void take(const JobMembers& members, const Shared& shared, std::unique_ptr<LongJob> job);

  /// Pushes some jobs; when all are pushed, appends a part of the reply. True: it was the last one.
  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out);

  /// The memory of the jobs that were not pushed, and of the refusals that were not rendered.
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }
  [[nodiscard]] std::size_t unrendered_bytes() const { return reply_.size(); }

 private:
  /// A job that is not pushed yet. `put` sets the views in `job`: parts move in memory while they
  /// are taken.
  struct Part {
    std::string jid;
    std::string queue;
    std::string body;
    NewJob job;
    std::unique_ptr<LongJob> long_job;
    std::size_t counted_bytes = 0;  ///< in `kept_bytes_`
  };

  void add(Part&& part);
  void refuse(std::string_view jid, std::string text);
  void push_slice(Shared& shared, Time now);
  [[nodiscard]] bool put(Part& part, Shared& shared, Time now);
  void render_slice();

  const PushStart start_;
  std::deque<Part> parts_;
  std::map<std::string, std::string> refused_;  ///< the text of each refusal, by jid
  std::size_t kept_bytes_ = 0;
  Rope reply_;
  bool is_length_sent_ = false;
};

/// A PUSHB. First it reads all jobs, since none may be pushed if the array is not valid JSON. Then
/// it pushes them.
class BulkPush final : public SlicedCommand {
 public:
  BulkPush(std::string_view json, PushStart start);
  BulkPush(const BulkPush&) = delete;
  BulkPush& operator=(const BulkPush&) = delete;

  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out) override;
  [[nodiscard]] std::size_t kept_bytes() const override {
    return json_.size() + jobs_.kept_bytes();
  }
  [[nodiscard]] std::size_t unrendered_bytes() const override { return jobs_.unrendered_bytes(); }

 private:
  [[nodiscard]] Outcome<Done> read_slice(Shared& shared);

  const std::string json_;
  ArrayCutter cutter_;
  bool is_read_ = false;
  JobList jobs_;
};

/// A PUSHB of a long line. Checks all of it before it reads the first job: so it knows where each
/// begins and ends, whatever is in it.
class LongBulkPush final : public SlicedCommand {
 public:
  /// `line`: with its verb.
  LongBulkPush(Rope&& line, PushStart start);

  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out) override;
  [[nodiscard]] std::size_t kept_bytes() const override {
    return line_.size() + json_.size() + job_.size() + (long_job_ ? long_job_->kept_bytes() : 0) +
           jobs_.kept_bytes();
  }
  [[nodiscard]] std::size_t unrendered_bytes() const override { return jobs_.unrendered_bytes(); }

 private:
  [[nodiscard]] Outcome<Done> read_slice(Shared& shared);
  [[nodiscard]] Outcome<Done> read_piece(Shared& shared);
  [[nodiscard]] Outcome<Done> add_to_job(std::string_view json);
  [[nodiscard]] Outcome<Done> end_job(Shared& shared);
  [[nodiscard]] bool ends_job(char c);

  Rope line_;
  Rope json_;  ///< the same, checked and compact
  Minifier minifier_{Minifier::Root::kJobs, json_};
  std::size_t verb_bytes_;
  bool is_checked_ = false;
  bool is_read_ = false;
  // Where in the array the reading is.
  std::string piece_;  ///< of `json_`,
  std::size_t piece_at_ = 0;
  std::size_t depth_ = 0;
  bool is_in_string_ = false;
  bool is_escaped_ = false;
  std::string job_;                    ///< its JSON up to there,
  std::unique_ptr<LongJob> long_job_;  ///< unless it is long
  JobList jobs_;
};

/// A slice that reads ends with the job that takes it past this. Jobs that are shorter than the
/// other number count as so many bytes: reading one takes as long.
inline constexpr std::size_t kBulkSliceBytes = 64 * 1024;
inline constexpr std::size_t kLeastJobBytes = 256;

/// How the line of a long PUSHB begins.
inline constexpr std::string_view kLongBulkPush = "PUSHB ";

}  // namespace millrace::faktory
