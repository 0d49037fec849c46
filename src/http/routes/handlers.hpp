#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/bulk_changes.hpp"
#include "http/kit/json.hpp"
#include "http/routes/scope.hpp"
#include "http/routes/site.hpp"

/// One function for each route of the API; api.cpp has the table of routes. web/openapi.json
/// describes the answers field by field, and a test compares the two.
namespace millrace::http {

/// A request with all that a handler may use. `name` is what the route's `*` stands for: a name as
/// its owner gave it.
struct Call {
  Site& site;
  const Request& request;
  const Moment& moment;
  std::string name = {};
};

/// What a path names is of a queue.
struct Owner {
  /// nullopt: there is no such thing.
  std::optional<std::string> (*queue_of)(const Call& call);
  /// The answer then.
  Response (*say_gone)(const Call& call);
};
extern const Owner kJobOwner;
extern const Owner kFinishedOwner;  ///< of a job that has ended
extern const Owner kCronOwner;      ///< of an entry: the queue to which it pushes

using ScopedHandler = Response (*)(const Call& call, const ScopedQueues& queues);

Response show_overview(const Call& call, const ScopedQueues& queues);
Response show_trend(const Call& call);
Response show_series(const Call& call, const Scope& scope);
/// How many runs of the queue ended in each half of a minute of the last 15, the oldest first;
/// null: nothing is kept of the queue.
[[nodiscard]] Json show_recent(const Series& series, std::string_view queue);
Response show_history(const Call& call);
Response show_server(const Call& call);
Response show_cluster(const Call& call);

Response list_queues(const Call& call, const ScopedQueues& queues);
Response show_queue(const Call& call);
Response pause_queue(const Call& call);
Response resume_queue(const Call& call);
Response clear_queue(const Call& call);
Response delete_queue(const Call& call);

/// The answer when there is no job of the number that the path names.
Response say_gone(const Call& call);
Response list_jobs(const Call& call, const ScopedQueues& queues);
Response count_jobs(const Call& call, const ScopedQueues& queues);
Response show_job(const Call& call);
Response show_body(const Call& call);
Response find_named(const Call& call, const ScopedQueues& queues);
Response list_finished(const Call& call, const ScopedQueues& queues);
Response show_finished_job(const Call& call);
/// Called by `prepare`: gives a jid to a job without one. It changes the text of the body, so that
/// no number in it is written differently.
std::optional<Problem> prepare_push(const Site& site, Request& request);
Response push_job(const Call& call, const Scope& scope);
/// The same for a job that is only checked.
std::optional<Problem> prepare_check(const Site& site, Request& request);
Response check_job(const Call& call, const Scope& scope);
/// The answer when a job was not pushed.
Response refuse_push(const PushRefusal& refused);
/// The member `to` of a move. Empty: it is another change.
Outcome<std::string> read_to(const Json& members, Mutation::Action action, const Site& site);
Response change_jobs(const Call& call, const Scope& scope);
Response retry_job(const Call& call);
Response move_job(const Call& call);
Response kill_job(const Call& call);
Response delete_job(const Call& call);

Response list_locks(const Call& call, const Scope& scope);
Response free_lock(const Call& call);

Response list_batches(const Call& call);
Response show_batch(const Call& call);
Response retry_batch(const Call& call);
Response discard_batch(const Call& call);
Response accept_batch(const Call& call);
Response delete_batch(const Call& call);

Response list_errors(const Call& call, const Scope& scope);
Response show_error(const Call& call, const Scope& scope);
Response mute_error(const Call& call, const Scope& scope);
Response unmute_error(const Call& call, const Scope& scope);
Response note_error(const Call& call, const Scope& scope);
Response list_alerts(const Call& call);
Response silence_alert(const Call& call);
Response unsilence_alert(const Call& call);
Response test_alert(const Call& call);
Response list_tokens(const Call& call);
Response make_token(const Call& call);
Response revoke_token(const Call& call);
Response list_activity(const Call& call, const Scope& scope);
/// The last change that people have made to that very job or queue, by an action whose first word
/// is one of `kinds`; null: none is known.
[[nodiscard]] Json show_last_change(const Site& site, std::string_view target,
                                    std::initializer_list<std::string_view> kinds);
inline constexpr std::string_view kTokensPath = "/api/v1/tokens";
/// Notes the change that the request has made. `path` is that of its route, with `*` for a name.
[[nodiscard]] Response note_change(const Call& call, std::string_view path, Response response);
/// The route that the request is for, and what its `*` stands for. Empty: there is none.
struct NamedPath {
  std::string_view pattern = {};
  std::string name = {};
};
[[nodiscard]] NamedPath path_of(const Request& request);
/// A row of the table of routes: what a user may do with it.
struct RouteRight {
  access::Right needed;
  std::string_view method;
  std::string_view path;
  /// "nobody": it is not needed. "a user": nor here, but a user who has logged in. "all queues",
  /// "this queue": of the path. "its queue": that of what the path names. "any queue": the answer
  /// is cut.
  std::string_view where;
};
[[nodiscard]] std::vector<RouteRight> route_rights();
Response list_types(const Call& call);

Response list_operations(const Call& call, const Scope& scope);
Response start_operation(const Call& call, const Scope& scope);
/// Starts it and answers 202 with its progress so far.
[[nodiscard]] Response begin_operation(const Call& call, BulkChanges::Request request);
/// The members `as_of` and `at_most`.
[[nodiscard]] Outcome<BulkChanges::Bounds> read_bounds(const Json& members);
Response show_operation(const Call& call, const Scope& scope);
Response cancel_operation(const Call& call, const Scope& scope);

Response list_cron(const Call& call, const Scope& scope);
Response show_cron(const Call& call);
Response run_cron(const Call& call);
Response pause_cron(const Call& call);
Response resume_cron(const Call& call);

Response list_throttles(const Call& call, const Scope& scope);
Response list_throttle_rules(const Call& call);
Response show_throttle_of(const Call& call);
Response set_throttle(const Call& call);
Response reset_throttle(const Call& call);

Response list_views(const Call& call);
Response show_view(const Call& call);
Response set_view(const Call& call);
Response delete_view(const Call& call);

Response list_workers(const Call& call);
Response show_worker(const Call& call);
Response quiet_workers(const Call& call);
Response stop_workers(const Call& call);
Response list_connections(const Call& call);

Response show_metrics(const Call& call);
Response show_stats(const Call& call);
Response show_health(const Call& call);
Response show_health_of_leader(const Call& call);

}  // namespace millrace::http
