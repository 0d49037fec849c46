#include "cli/named_job.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/members.hpp"

namespace millrace::cli {
namespace {

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

/// The number in the jid of a job that was put over beanstalk; empty: it is another jid.
std::string number_in(const std::string& jid) {
  constexpr std::string_view kStart = "beanstalk-";
  if (!jid.starts_with(kStart)) return {};
  const std::string number = jid.substr(kStart.size());
  return is_number(number) ? number : std::string();
}

/// Such jobs are not among those that are found by their jids.
Reply<NamedJob> find_put(Session& session, const std::string& jid) {
  const Failure gone{.text = "there is no job " + jid, .status = kNotFound};
  const std::string number = number_in(jid);
  if (number.empty()) return gone;
  Reply<NamedJob> found = find_number(session, number);
  if (!found && found.error().status != kNotFound) return found;
  return found && text_at(found->answer.json, "jid") == jid ? found : gone;
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
  if (jobs.empty() && finished.empty()) return find_put(session, jid);
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
