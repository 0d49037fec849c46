#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "access/users.hpp"
#include "base/long_text.hpp"
#include "base/result.hpp"
#include "core/model/types.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

struct Shared;

/// The jobs of a PUSHB, all of which were read: none may be pushed if the array is not valid JSON.
/// They are pushed in slices between other clients' commands.
class JobList {
 public:
  /// Reads the array that `reader` has loaded, and checks each job by the rules of PUSH. Any thread
  /// may do that. `worker` pushes them: a `wid`, or empty.
  [[nodiscard]] static Outcome<std::unique_ptr<JobList>> read(JobReader& reader,
                                                              const PushTerms& terms,
                                                              const std::string& worker);

  /// Works one slice. True: it was the last one, and `reply` is there.
  [[nodiscard]] bool work(Shared& shared, const access::Caller& caller, Time now);

  [[nodiscard]] LongText& reply() { return reply_; }

  /// Why the last job was refused that the user may not push; empty: none was since the last call.
  [[nodiscard]] std::string take_not_allowed() { return std::exchange(not_allowed_, {}); }

  /// The memory of the jobs that were not pushed, and of the refusals that were not rendered.
  [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }
  [[nodiscard]] std::size_t unrendered_bytes() const { return reply_.size(); }

 private:
  /// A job that is not pushed yet.
  struct Part {
    std::string jid;
    MadeJob job;

    [[nodiscard]] std::size_t kept_bytes() const { return jid.size() + job.kept_bytes(); }
  };

  explicit JobList(std::string worker) : worker_(std::move(worker)) {}

  void take(const JobMembers& members, const PushTerms& terms);
  void refuse(std::string_view jid, std::string text);
  void push_slice(Shared& shared, const access::Caller& caller, Time now);
  void render_slice();

  const std::string worker_;
  std::deque<Part> parts_;
  std::map<std::string, std::string> refused_;  ///< the text of each refusal, by jid
  std::string not_allowed_;
  std::size_t kept_bytes_ = 0;
  LongText reply_;
};

}  // namespace millrace::faktory
