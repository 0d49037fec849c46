#include "cli/named_job.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "cli/members.hpp"

namespace millrace::cli {
namespace {

constexpr int kNotFound = 404;

Reply<NamedJob> as_kind(const Reply<Answer>& answer, NamedJob::Kind kind) {
  if (!answer) return answer.error();
  return NamedJob{.answer = *answer, .kind = kind};
}

/// A number that begins with zero would be another text.
bool is_number(const std::string& name) {
  constexpr std::size_t kDigitsMax = 16;
  return !name.empty() && name.size() <= kDigitsMax && name.front() != '0' &&
         std::all_of(name.begin(), name.end(), is_digit);
}

Reply<NamedJob> find_number(Session& session, const std::string& number) {
  const Reply<Answer> job = session.api.get("jobs/" + number);
  if (job || job.error().status != kNotFound) return as_kind(job, NamedJob::Kind::kJob);
  return as_kind(session.api.get("finished/" + number), NamedJob::Kind::kFinished);
}

Reply<NamedJob> find_jid(Session& session, const std::string& jid) {
  const Reply<Answer> answer = session.api.get("jids/" + path_part(jid));
  if (!answer) return answer.error();
  const Json& jobs = member(answer->json, "jobs");
  const Json& finished = member(answer->json, "finished");
  if (jobs.size() == 1) return find_number(session, text_at(jobs.front(), "id"));
  if (jobs.empty() && finished.size() == 1) {
    return find_number(session, text_at(finished.front(), "id"));
  }
  if (jobs.empty() && finished.empty()) {
    return Failure{.text = "there is no job " + jid, .status = kNotFound};
  }
  return NamedJob{.answer = *answer, .kind = NamedJob::Kind::kSeveral};
}

}  // namespace

Reply<NamedJob> find_job(Session& session, const std::string& name) {
  if (name.empty()) return Failure{.exit = Exit::kUsage, .text = "an ID must not be empty"};
  if (is_number(name)) {
    Reply<NamedJob> found = find_number(session, name);
    if (found || found.error().status != kNotFound) return found;
  }
  return find_jid(session, name);
}

}  // namespace millrace::cli
