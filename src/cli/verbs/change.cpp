#include "cli/members.hpp"
#include "cli/verbs/change_matching.hpp"
#include "cli/verbs/change_named.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

constexpr ChangeWords kRetry{
    .action = "retry", .doing = "retrying", .done = "made ready", .is_dangerous = false};
constexpr ChangeWords kMove{
    .action = "move", .doing = "moving", .done = "moved", .is_dangerous = false};
constexpr ChangeWords kKill{.action = "kill", .doing = "killing", .done = "killed"};
constexpr ChangeWords kDelete{.action = "delete", .doing = "deleting", .done = "deleted"};

Exit change(Session& session, const ChangeWords& words) {
  const Choice& choice = session.choice;
  if (choice.words.empty()) return change_matching(session, words);
  if (!choice.filters.empty()) {
    return session.refuse_usage("jobs are named by their IDs or by filters, not by both");
  }
  // A script whose list of IDs is empty must not change all jobs of a state.
  if (choice.is_agreed) return session.refuse_usage("IDs need no --yes");
  if (choice.is_dry) return session.refuse_usage("--dry-run counts the jobs that match filters");
  if (choice.states.size() > 1) return session.refuse_usage("with IDs, --state is one state");
  return change_named(session, words);
}

}  // namespace

Exit retry_jobs(Session& session) {
  return change(session, kRetry);
}

Exit move_jobs(Session& session) {
  if (session.choice.to.empty())
    return session.refuse_usage("--to is needed: the queue to move to");
  return change(session, kMove);
}

Exit kill_jobs(Session& session) {
  return change(session, kKill);
}

Exit delete_jobs(Session& session) {
  return change(session, kDelete);
}

}  // namespace millrace::cli
