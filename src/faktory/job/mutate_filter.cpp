#include "faktory/job/mutate_filter.hpp"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/long_text.hpp"
#include "base/steps.hpp"
#include "core/model/queue.hpp"
#include "faktory/job/glob.hpp"
#include "faktory/job/wrapped_body.hpp"

namespace millrace::faktory {
namespace {

/// The JSON of a job with all its members, in parts that cost a bounded number of steps each. It
/// may be read over several calls from outside, in which the job's body was in other memory.
class JobText {
 public:
  JobText(const WorkUnitFormat& format, WallClock clock) : format_(&format), clock_(clock) {}

  /// From here on all is of this job, from the beginning of its text.
  void begin() {
    part_.clear();
    rest_ = LongText();
    wrapped_.reset();
    is_measured_ = is_over_ = false;
    taken_bytes_ = 0;
  }

  /// To be called before `next` in each call from outside. The job is shown as it was in the first.
  void show(const Job& job, const Queue& queue) {
    if (wrapped_) return;
    if (job.body_bytes <= WorkUnitFormat::kLongBodyBytes) {
      std::string whole;
      format_->render_whole(job, queue.name, clock_, whole);
      rest_ = LongText();
      rest_.add(whole);
    } else {
      // Owns nothing: the body stays where it is during this call.
      const TextOwner body(std::shared_ptr<const void>(), job.body.get());
      std::optional<LongText> text = format_->render_whole_long(job, queue.name, clock_, body);
      if (!text) {
        wrapped_.emplace(job, queue.name, clock_);
        return;
      }
      rest_ = std::move(*text);
    }
    rest_.drop(std::min(taken_bytes_, rest_.size()));
  }

  /// The next part, good until the next call of anything here; empty: the text is over. nullopt:
  /// too few steps are left.
  [[nodiscard]] std::optional<std::string_view> next(const Job& job, Steps& steps) {
    part_.clear();
    if (wrapped_) {
      if (!measure(job, steps)) return std::nullopt;
      if (!is_over_) is_over_ = wrapped_->append_some(job.body_view(), part_);
      steps.use_up(part_.size());
    } else {
      rest_.take(kPartBytes, part_);
      taken_bytes_ += part_.size();
      steps.use_up(part_.size() / kCopiedBytesPerStep);
    }
    return part_;
  }

 private:
  static constexpr std::size_t kPartBytes = 32 * 1024;
  /// What a step of a comparison takes, bytes are copied in.
  static constexpr std::size_t kCopiedBytesPerStep = 16;

  [[nodiscard]] bool measure(const Job& job, Steps& steps) {
    while (!is_measured_ && !steps.are_used_up()) {
      is_measured_ = wrapped_->measure(job.body_view());
      steps.use_up(WrappedBody::kMeasuredBytes);
    }
    return is_measured_;
  }

  const WorkUnitFormat* format_;
  WallClock clock_;
  std::string part_;
  LongText rest_;                       ///< of a text that is in the body
  std::optional<WrappedBody> wrapped_;  ///< the text is not in the body
  bool is_measured_ = false;
  bool is_over_ = false;         ///< `wrapped_` was read to its end
  std::size_t taken_bytes_ = 0;  ///< of `rest_`
};

/// Globs that a job's JSON must match, all of them.
std::vector<Glob> globs_of(const MutateFilter& filter) {
  std::vector<Glob> globs;
  if (!filter.regexp.empty()) globs.emplace_back(filter.regexp);
  if (filter.jobtype.empty()) return globs;
  const bool is_text = !filter.regexp.empty();
  const std::string jobtype = is_text ? glob_of_text(filter.jobtype) : filter.jobtype;
  globs.emplace_back(R"(*"jobtype":")" + jobtype + R"("*)");
  return globs;
}

/// Compares jobs' JSON with globs. When it is asked about a job again, it goes on where it was.
class TextMatcher {
 public:
  TextMatcher(std::vector<Glob> globs, const WorkUnitFormat& format, WallClock clock)
      : globs_(std::move(globs)), text_(format, clock) {}

  Match operator()(const Job& job, const Queue& queue, Steps& steps) {
    // The broker asks about one job again until it is decided. Another job means a new text.
    if (job.id != job_ || job.when != when_) {
      job_ = job.id;
      when_ = job.when;
      next_glob_ = 0;
      begin_glob();
    }
    text_.show(job, queue);
    while (next_glob_ < globs_.size()) {
      Glob& glob = globs_[next_glob_];
      if (!read_on(glob, job, steps)) return Match::kUnfinished;
      if (!glob.matches()) return end(Match::kNo);
      if (++next_glob_ == globs_.size()) break;
      begin_glob();
      text_.show(job, queue);
    }
    return end(Match::kYes);
  }

 private:
  void begin_glob() {
    if (next_glob_ < globs_.size()) globs_[next_glob_].restart();
    text_.begin();
    part_.clear();
    read_bytes_ = 0;
  }

  /// True: the glob has read enough.
  bool read_on(Glob& glob, const Job& job, Steps& steps) {
    while (!glob.is_decided()) {
      if (read_bytes_ == part_.size()) {
        const std::optional<std::string_view> part = text_.next(job, steps);
        if (!part) return false;
        if (part->empty()) return true;
        part_ = *part;
        read_bytes_ = 0;
      }
      read_bytes_ += glob.read(std::string_view(part_).substr(read_bytes_), steps);
      if (read_bytes_ < part_.size() && !glob.is_decided()) return false;
    }
    return true;
  }

  Match end(Match verdict) {
    job_ = 0;
    text_.begin();
    return verdict;
  }

  std::vector<Glob> globs_;
  JobText text_;
  JobId job_ = 0;  ///< 0: none is begun
  Time when_{};    ///< of that job: if it has changed, the text may have too
  std::string part_;
  std::size_t next_glob_ = 0;
  std::size_t read_bytes_ = 0;  ///< of the part, by that one
};

}  // namespace

JobMatcher make_matcher(const MutateFilter& filter, const WorkUnitFormat& format, WallClock clock) {
  if (filter.is_empty()) return {};
  if (filter.jids.empty()) {
    // Shared: a function that can be copied has it.
    return [matcher = std::make_shared<TextMatcher>(globs_of(filter), format, clock)](
               const Job& job, const Queue& queue, Steps& steps) {
      return (*matcher)(job, queue, steps);
    };
  }
  absl::flat_hash_set<std::string> jids(filter.jids.begin(), filter.jids.end());
  return [jids = std::move(jids), &format](const Job& job, const Queue&, Steps&) {
    return jids.contains(format.identify(job).jid) ? Match::kYes : Match::kNo;
  };
}

}  // namespace millrace::faktory
