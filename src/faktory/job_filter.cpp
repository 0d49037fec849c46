#include "faktory/job_filter.hpp"

#include <absl/container/flat_hash_set.h>

#include <string_view>
#include <utility>

#include "faktory/glob.hpp"

namespace millrace::faktory {
namespace {

/// A condition on a job's JSON.
struct TextCondition {
  std::string pattern;
  bool is_glob = true;  ///< else the pattern stands somewhere in the text

  [[nodiscard]] bool holds(std::string_view text) const {
    return is_glob ? matches_glob(pattern, text) : text.find(pattern) != std::string_view::npos;
  }
};

std::vector<TextCondition> conditions_of(const JobFilter& filter) {
  std::vector<TextCondition> conditions;
  const std::string member = R"("jobtype":")" + filter.jobtype + '"';
  const bool is_plain = !filter.regexp.empty() || is_plain_text(filter.jobtype);
  if (!filter.regexp.empty()) conditions.push_back({.pattern = filter.regexp});
  if (filter.jobtype.empty()) return conditions;
  conditions.push_back({.pattern = is_plain ? member : '*' + member + '*', .is_glob = !is_plain});
  return conditions;
}

}  // namespace

std::function<bool(const Job&, const Queue&)> make_matcher(const JobFilter& filter,
                                                           const WorkUnitFormat& format) {
  if (filter.is_empty()) return {};
  if (!filter.jids.empty()) {
    absl::flat_hash_set<std::string> jids(filter.jids.begin(), filter.jids.end());
    return [jids = std::move(jids), &format](const Job& job, const Queue&) {
      return jids.contains(format.identify(job).jid);
    };
  }
  return [conditions = conditions_of(filter), &format, text = std::string()](
             const Job& job, const Queue& queue) mutable {
    text.clear();
    format.render(job, queue.name, text);
    for (const TextCondition& condition : conditions) {
      if (!condition.holds(text)) return false;
    }
    return true;
  };
}

}  // namespace millrace::faktory
