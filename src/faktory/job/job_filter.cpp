#include "faktory/job/job_filter.hpp"

#include <absl/container/flat_hash_set.h>

#include <string_view>
#include <utility>

#include "faktory/job/glob.hpp"

namespace millrace::faktory {
namespace {

/// Globs that a job's JSON must match, all of them.
std::vector<Glob> globs_of(const JobFilter& filter) {
  std::vector<Glob> globs;
  if (!filter.regexp.empty()) globs.emplace_back(filter.regexp);
  if (filter.jobtype.empty()) return globs;
  const bool is_text = !filter.regexp.empty();
  const std::string jobtype = is_text ? glob_of_text(filter.jobtype) : filter.jobtype;
  globs.emplace_back(R"(*"jobtype":")" + jobtype + R"("*)");
  return globs;
}

/// Compares jobs' JSON with globs. It keeps a long JSON, and continues with it when it is asked
/// again.
class TextMatcher {
 public:
  TextMatcher(std::vector<Glob> globs, const WorkUnitFormat& format, WallClock clock)
      : globs_(std::move(globs)), format_(&format), clock_(clock) {}

  Match operator()(const Job& job, const Queue& queue, Steps& steps) {
    // The broker asks about one job again until it is decided. Another job means a new text.
    if (job.id != job_ || job.when != when_) begin(job, queue);
    for (; next_glob_ < globs_.size(); ++next_glob_, read_bytes_ = 0) {
      Glob& glob = globs_[next_glob_];
      if (read_bytes_ == 0) glob.restart();
      read_bytes_ += glob.read(std::string_view(text_).substr(read_bytes_), steps);
      const bool is_through = glob.is_decided() || read_bytes_ == text_.size();
      if (!is_through) return Match::kUnfinished;
      if (!glob.matches()) return end(Match::kNo);
    }
    return end(Match::kYes);
  }

 private:
  void begin(const Job& job, const Queue& queue) {
    job_ = job.id;
    when_ = job.when;
    next_glob_ = 0;
    read_bytes_ = 0;
    text_.clear();
    format_->render(job, queue.name, clock_, text_);
  }

  Match end(Match verdict) {
    job_ = 0;
    return verdict;
  }

  std::vector<Glob> globs_;
  const WorkUnitFormat* format_;
  WallClock clock_;
  JobId job_ = 0;  ///< 0: none is begun
  Time when_{};    ///< of that job: if it has changed, the text may have too
  std::string text_;
  std::size_t next_glob_ = 0;
  std::size_t read_bytes_ = 0;  ///< by that one
};

}  // namespace

std::function<Match(const Job&, const Queue&, Steps&)> make_matcher(const JobFilter& filter,
                                                                    const WorkUnitFormat& format,
                                                                    WallClock clock) {
  if (filter.is_empty()) return {};
  if (filter.jids.empty()) return TextMatcher(globs_of(filter), format, clock);
  absl::flat_hash_set<std::string> jids(filter.jids.begin(), filter.jids.end());
  return [jids = std::move(jids), &format](const Job& job, const Queue&, Steps&) {
    return jids.contains(format.identify(job).jid) ? Match::kYes : Match::kNo;
  };
}

}  // namespace millrace::faktory
