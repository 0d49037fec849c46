#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.hpp"
#include "base/rope.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/session/command.hpp"
#include "faktory/session/long/job_list.hpp"

namespace millrace::faktory {

/// A line that takes long to parse, which any thread may do.
class LongLine {
 public:
  /// What it says: a command, a job that is pushed, or several.
  using Meaning = std::variant<Result<Command, Refused>, Result<MadeJob, RefusedJob>,
                               Outcome<std::unique_ptr<JobList>>>;

  /// Without its end. `worker`: the `wid` of the client, or empty.
  LongLine(Rope&& line, const PushTerms& terms, std::string worker)
      : bytes_(line.size()), line_(std::move(line)), terms_(terms), worker_(std::move(worker)) {}
  LongLine(const LongLine&) = delete;
  LongLine& operator=(const LongLine&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void parse();
  /// Instead of that: its memory is free again.
  void drop() { line_ = {}; }

  /// After that. Views in it are good as long as this is there.
  [[nodiscard]] Meaning& meaning() { return *meaning_; }

 private:
  void load(std::string_view json, JobReader& reader);
  [[nodiscard]] Result<MadeJob, RefusedJob> make_job(std::string_view json);

  const std::size_t bytes_;
  Rope line_;
  std::string text_;  ///< the same in one piece
  const PushTerms terms_;
  const std::string worker_;
  std::optional<Meaning> meaning_;
};

}  // namespace millrace::faktory
