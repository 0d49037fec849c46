#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/model/features/bid.hpp"
#include "core/model/features/job_batch.hpp"
#include "core/model/wall_clock.hpp"
#include "core/state/batches/job_batches.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/job/wrapped_body.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

std::string_view state_of(const JobBatch& batch, BatchRole role) {
  switch (batch.fields.callback(role)) {
    case CallbackState::kNone:
    case CallbackState::kWaiting:
      return "";
    case CallbackState::kEnqueued:
      return "1";
    case CallbackState::kSucceeded:
      return "2";
    case CallbackState::kGone:
      // Of `success`, only an ACK counts.
      return role == BatchRole::kComplete ? "2" : "1";
  }
  return "";
}

/// What BATCH STATUS answers:
/// `{"bid":"b-..","parent_bid":"b-..","description":"..","created_at":"..","total":3,"pending":2,`
/// `"failed":0,"complete_st":"","success_st":""}`, without `parent_bid` where there is none. The
/// states are empty, `1` for a callback that was pushed, and `2` for one that has ended.
std::string render_batch_status(const JobBatch& batch, WallClock clock) {
  const JobBatchAdded added = JobBatches::added_of(batch);
  std::string out = R"({"bid":")" + format_bid(batch.id) + '"';
  if (batch.parent != 0) out += R"(,"parent_bid":")" + format_bid(batch.parent) + '"';
  out += R"(,"description":)";
  append_json_string(added.description, out);
  out += R"(,"created_at":")" + format_time(clock.shown(added.created_at)) + '"';
  out += R"(,"total":)" + std::to_string(batch.fields.total);
  out += R"(,"pending":)" + std::to_string(batch.fields.pending);
  out += R"(,"failed":)" + std::to_string(batch.fields.failed());
  out.append(R"(,"complete_st":")").append(state_of(batch, BatchRole::kComplete));
  out.append(R"(","success_st":")").append(state_of(batch, BatchRole::kSuccess));
  return out.append("\"}");
}

/// How long the next job of the queue has been waiting in it, in seconds; 0 without such a job.
double latency_of(const View& view, std::string_view name, Time now) {
  const Queue* queue = is_queue_name(name) ? view.queues().find(name) : nullptr;
  // The next job is not always the oldest: a more urgent one may be before it.
  const Job* job = queue == nullptr ? nullptr : view.jobs().first_ready(*queue);
  if (job == nullptr || job->enqueued_at > now) return 0;
  return std::chrono::duration<double>(now - job->enqueued_at).count();
}

/// Of a reply that is still being made.
constexpr std::uint64_t kUnknownEnd = std::numeric_limits<std::uint64_t>::max();

/// The job with its body, which takes long. Any thread may do it.
LongText rendered(WrappedBody& wrapped, std::string_view body) {
  while (!wrapped.measure(body)) continue;
  LongText out;
  for (bool is_whole = false; !is_whole;) {
    std::string text;
    is_whole = wrapped.append_some(body, text);
    LongText part;  // A text by itself, so that nothing is copied when the whole grows.
    part.add(text);
    out.add(std::move(part));
  }
  return out;
}

/// Appends the number as the reference writes it: without an exponent, and 0 as `0`.
void append_number(double value, std::string& out) {
  std::array<char, 64> digits;
  const auto [end, error] =
      std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed);
  CHECK(error == std::errc{});
  out.append(digits.begin(), end);
}

}  // namespace

// ---- producers ----------------------------------------------------------------------------------

void FaktorySession::execute(const Push& push, Time now) {
  if (const auto id = shared_.pusher.push(push.json, now, caller_, std::nullopt, wid_); !id) {
    return refuse_job(id.error(), "push", now);
  }
  reply::ok(output_);
}

void FaktorySession::execute(const PushBulk& push, Time now) {
  Pusher& pusher = shared_.pusher;
  pusher.reader().load(push.json);
  auto jobs = JobList::read(pusher.reader(), pusher.terms(now), wid_);
  pusher.shrink();
  push_list(jobs, now);
}

void FaktorySession::push_list(Outcome<std::unique_ptr<JobList>>& jobs, Time now) {
  if (!jobs) {
    return reply::refused_job(output_, {RefusedJob::Reason::kInvalidJson, jobs.error().text});
  }
  pushed_ = std::move(*jobs);
  push_slice(now);
}

void FaktorySession::push_slice(Time now) {
  const bool is_done = pushed_->work(shared_, caller_, now);
  if (std::string details = pushed_->take_not_allowed(); !details.empty()) {
    shared_.broker.activity().refuse(change_by_this("pushb", {.details = std::move(details)}, now),
                                     {});
  }
  if (!is_done) return;
  begin_long_reply(std::move(std::exchange(pushed_, nullptr)->reply()), kWholeLog);
}

// ---- workers ------------------------------------------------------------------------------------

/// The state belongs to the worker and holds on all of its connections. The reference looks at the
/// first one only.
bool FaktorySession::is_ordered_to_stop() const {
  const Worker* worker = shared_.broker.view().worker_of(client_);
  return worker != nullptr && worker->state != Worker::State::kRunning;
}

void FaktorySession::execute(const Fetch& fetch, Time now) {
  ReserveRequest asked{.queues = fetch.queues};
  this->fetch(asked, now);
}

/// The request names the queues. The rest is set here.
void FaktorySession::fetch(ReserveRequest& asked, Time now) {
  // A worker that was told to stop waits for no queue. It gets no job, and its answer comes after
  // the usual wait, so that it does not ask again and again.
  ReserveRequest nothing;
  ReserveRequest& request = is_ordered_to_stop() ? nothing : asked;
  request.choice = ReserveRequest::Choice::kFirstListed;
  // By worker, so that the job stays reserved when this connection closes.
  request.wid = wid_;
  // A client that has closed its sending side gets its answer at once.
  request.wait_until = has_input_ended_ ? now : now + kFetchWait;
  if (const std::optional<Delivery> delivery = shared_.broker.reserve(client_, request, now)) {
    answer_fetch(*delivery);
  } else {
    wait_ = Wait::kJob;
  }
}

void FaktorySession::answer_fetch(const Delivery& delivery) {
  if (delivery.kind == Delivery::Kind::kNoRoom) return reply::error(output_, reply::kNoRoom);
  const std::size_t begin = output_.size();
  if (delivery.kind != Delivery::Kind::kJob) {
    reply::nil(output_);
    return need_only(0, begin);
  }
  const Job& job = *delivery.job;
  const Lsn needs = shared_.broker.ledger().needed_for(job);
  const std::string_view queue = shared_.broker.view().queues().at(job.queue).name;
  if (job.body_bytes > WorkUnitFormat::kLongBodyBytes) {
    answer_long_job(job, queue, needs);
  } else {
    // Into a buffer that all sessions share: a reply begins with the length of the job.
    shared_.format.render(job, queue, shared_.broker.view().wall_clock(), shared_.shown);
    reply::bulk(output_, shared_.shown);
    reset(shared_.shown, kKeptBufferBytesMax);
    need_only(needs, begin);
  }
  // Until the reply has left, the job can be given back: see `close`.
  fetched_.push_back({.id = job.id,
                      .reserved_at = job.reservation()->reserved_at,
                      .reply_end = background_ ? kUnknownEnd : output_end() + unrendered_bytes()});
}

void FaktorySession::answer_long_job(const Job& job, std::string_view queue, Lsn needs) {
  const View& view = shared_.broker.view();
  const BodyPin body = view.jobs().pin_body(job);
  std::optional<LongText> shown = shared_.format.render_long(job, queue, view.wall_clock(), body);
  if (shown) return begin_long_reply(reply::long_bulk(std::move(*shown)), needs);
  struct Reply {
    WrappedBody wrapped;
    LongText text = {};
  };
  // Shared, as the line in `parse_in_background`.
  const auto made = std::make_shared<Reply>(Reply{WrappedBody(job, queue, view.wall_clock())});
  const auto finish = [this, made, needs](Time) {
    begin_long_reply(reply::long_bulk(std::move(made->text)), needs);
    fetched_.back().reply_end = output_end() + unrendered_bytes();
  };
  run_in_background({.unrendered_bytes = body->view().size(), .finish = finish},
                    [made, body] { made->text = rendered(made->wrapped, body->view()); });
}

void FaktorySession::execute(const Ack& ack, Time now) {
  // As in the reference, a job that nobody holds counts as acknowledged: a worker may repeat an ACK
  // whose reply it did not get.
  static_cast<void>(shared_.broker.workers().ack(client_, ack.jid, now));
  reply::ok(output_);
}

void FaktorySession::execute(const Fail& fail, Time now) {
  FailedRun run = cleaned(fail.run);
  const Worker* const worker = shared_.broker.view().worker_of(client_);
  const bool is_terminating = worker != nullptr && worker->state == Worker::State::kTerminate;
  if (is_release(run, is_terminating)) run.end = AttemptEnd::kReleased;
  if (shared_.broker.workers().fail(client_, fail.jid, std::move(run), now)) {
    reply::ok(output_);
  } else {
    reply::error(output_, reply::job_not_found(fail.jid));
  }
}

void FaktorySession::execute(const Beat& beat, Time now) {
  const auto state = shared_.broker.workers().beat(beat.wid, beat.asked, beat.rss_kb, now);
  if (state) {
    reply::worker_state(output_, *state);
  } else {
    reply::error(output_, reply::unknown_worker(beat.wid));
  }
}

// ---- everything else ----------------------------------------------------------------------------

void FaktorySession::execute(const Info&, Time now) {
  reply::bulk(output_, render_info(shared_, now));
}

void FaktorySession::execute(const QueueLatency& queues, Time now) {
  // By name, and each name once, as Go writes a map.
  std::map<std::string_view, double> latencies;
  for (const std::string_view name : queues.names) {
    latencies[name] = latency_of(shared_.broker.view(), name, now);
  }
  const char* separator = "";
  for (const auto& [name, seconds] : latencies) {
    shared_.shown += std::exchange(separator, ",");
    // Names come from the client as they are, and may need escapes.
    append_json_string(name, shared_.shown);
    shared_.shown += ':';
    append_number(seconds, shared_.shown);
  }
  reply::bulk(output_, '{' + shared_.shown + '}');
  reset(shared_.shown, kKeptBufferBytesMax);
}

void FaktorySession::execute(const TrackGet& get, Time) {
  reply::track(output_, get.jid, shared_.broker.workers().track(get.jid),
               shared_.broker.view().wall_clock());
}

void FaktorySession::execute(const TrackSet& set, Time now) {
  const TrackUpdate update{
      .jid = set.jid, .percent = set.percent, .desc = set.desc, .reserve_until = set.reserve_until};
  if (shared_.broker.workers().set_track(client_, update, now)) {
    reply::ok(output_);
  } else {
    reply::error(output_, reply::kNoRoom);
  }
}

void FaktorySession::execute(const NewBatch& batch, Time now) {
  const Result<JobBatchId, RefusedJob> id = shared_.batch_maker.add(batch.json, now, caller_);
  if (!id) return refuse_job(id.error(), "batches/new", now);
  reply::bulk(output_, format_bid(*id));
}

void FaktorySession::execute(const UseBatch& use, Time now) {
  Broker& broker = shared_.broker;
  const JobBatchId id = parse_bid(use.bid).value_or(0);
  const JobBatch* const batch = broker.view().batches().find(id);
  if (batch == nullptr) {
    const std::string shown(use.bid.substr(0, kEchoBytesMax));
    return reply::error(output_, reply::no_such_batch(shown));
  }
  switch (use.action) {
    case UseBatch::Action::kOpen:
      static_cast<void>(broker.batches().open(id, now));
      return reply::bulk(output_, format_bid(id));
    case UseBatch::Action::kCommit:
      static_cast<void>(broker.batches().commit(id, now));
      return reply::ok(output_);
    case UseBatch::Action::kStatus:
      return reply::bulk(output_, render_batch_status(*batch, broker.view().wall_clock()));
  }
}

void FaktorySession::execute(const End&, Time) {
  shared_.broker.workers().end(client_);
  reply::ok(output_);
  is_closing_ = true;
}

}  // namespace millrace::faktory
