#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/rope.hpp"
#include "core/model/types.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/json/array_cutter.hpp"
#include "faktory/json/compactor.hpp"
#include "faktory/session/sliced/job_list.hpp"
#include "faktory/session/sliced/sliced_command.hpp"

namespace millrace::faktory {

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
  Compactor compactor_{Compactor::Root::kJobs, json_};
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
