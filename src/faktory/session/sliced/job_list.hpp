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
#include "faktory/session/sliced/sliced_command.hpp"
#include "faktory/shared.hpp"

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

}  // namespace millrace::faktory
