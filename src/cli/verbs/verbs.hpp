#pragma once

#include "cli/session.hpp"

/// What each verb does. The text of a table is for people; with --json, the verbs print answers of
/// the JSON API.
namespace millrace::cli {

class Interrupts;

Exit show_stats(Session& session);
Exit list_queues(Session& session);
Exit list_jobs(Session& session);
Exit peek_job(Session& session);
Exit tail_jobs(Session& session);
Exit retry_jobs(Session& session);
Exit move_jobs(Session& session);
Exit kill_jobs(Session& session);
Exit delete_jobs(Session& session);
Exit pause_queues(Session& session);
Exit resume_queues(Session& session);
Exit push_job(Session& session);
/// The answer of the API to a push.
Exit show_pushed(Session& session, const Json& pushed);
Exit put_job(Session& session);
Exit fetch_jobs(Session& session);
Exit show_top(Session& session);
Exit list_workers(Session& session);
Exit list_errors(Session& session);
Exit list_batches(Session& session);
Exit turn_cron(Session& session);
Exit turn_throttles(Session& session);
Exit show_health(Session& session);
Exit show_cluster(Session& session);
Exit list_types(Session& session);
Exit list_changes(Session& session);
Exit list_locks(Session& session);
Exit turn_tokens(Session& session);
Exit export_jobs(Session& session);
Exit import_jobs(Session& session);

/// What the words of a verb that else lists things ask for, such as `queues clear NAME`. `noun`:
/// what the second one names.
Exit act(Session& session, std::string_view verb, const char* noun);

/// How an operation on many jobs is called: `deleting`, `deleted`.
struct OperationWords {
  const char* doing;
  const char* done;
};

/// Follows an operation to its end, and prints how many jobs it has changed. SIGINT cancels it.
Exit finish_operation(Session& session, Interrupts& interrupts, const Answer& begun,
                      const OperationWords& words, std::uint64_t* changed = nullptr);

}  // namespace millrace::cli
