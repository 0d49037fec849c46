#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/info.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBufferBytesMax) buffer.shrink_to_fit();
}

/// The queues named, or with the wildcard all. Tubes that only the beanstalk door reaches are left
/// out.
template <typename Queues>
std::vector<std::string> names_of(const Queues& queues, const View& view) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (is_queue_name(name)) names.emplace_back(name);
  };
  if (queues.is_all) {
    view.each_queue([&](const Queue& queue) { add(queue.name); });
  } else {
    for (const std::string_view name : queues.names) add(name);
  }
  return names;
}

/// How long the job that is next in line has been in the queue, in seconds.
double latency_of(const View& view, std::string_view name, Time now) {
  const Queue* queue = is_queue_name(name) ? view.find_queue(name) : nullptr;
  const Job* job = queue == nullptr ? nullptr : view.first_ready(*queue);
  if (job == nullptr || job->enqueued_at > now) return 0;
  return std::chrono::duration<double>(now - job->enqueued_at).count();
}

/// Without an exponent, and 0 as `0`.
void append_number(double value, std::string& out) {
  std::array<char, 64> digits;
  const auto [end, error] =
      std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed);
  CHECK(error == std::errc{});
  out.append(digits.begin(), end);
}

}  // namespace

// ---- producers ----------------------------------------------------------------------------------

void FwpSession::handle(const Push& push, Time now) {
  const Outcome<JobMembers> members = door_.reader.read(push.json);
  std::optional<JobFault> fault;
  if (members) {
    const Result<NewJob, JobFault> job = make_pushed_job(*members, now, door_.pushed);
    if (!job) {
      fault = job.error();
    } else if (const Answer<JobId> id = door_.broker.put(*job, now); !id) {
      fault = fault_of(id.error());
    }
  } else {
    fault = JobFault{JobFault::Kind::kInvalidJson, members.error().text};
  }
  if (fault) {
    append_error(fault_text(*fault), output_);
  } else {
    append_ok(output_);
  }
  clear(door_.pushed);
  door_.reader.shrink();
}

void FwpSession::handle(const PushBulk& push, Time now) {
  bulk_.emplace(push.json, now);
  work_bulk(now);
}

void FwpSession::work_bulk(Time now) {
  if (bulk_->work(door_, now, output_)) bulk_.reset();
}

// ---- workers ------------------------------------------------------------------------------------

/// The state belongs to the worker, and so holds on all its connections (the reference looks only
/// at the first one).
bool FwpSession::is_told_to_stop() const {
  const Worker* worker = door_.broker.view().worker_of(client_);
  return worker != nullptr && worker->state != Worker::State::kRunning;
}

void FwpSession::handle(const Fetch& fetch, Time now) {
  ReserveRequest request;
  request.choice = ReserveRequest::Choice::kFirstListed;
  if (!is_told_to_stop()) request.queues = fetch.queues;
  request.wid = wid_;
  request.wait_until = is_input_over_ ? now : now + kFetchWait;
  if (const std::optional<Delivery> delivery = door_.broker.reserve(client_, request, now)) {
    answer_fetch(*delivery);
  } else {
    waiting_ = Waiting::kJob;
  }
}

void FwpSession::answer_fetch(const Delivery& delivery) {
  if (delivery.kind == Delivery::Kind::kNoRoom) return append_error(kNoRoom, output_);
  if (delivery.kind != Delivery::Kind::kJob) return append_nil(output_);
  const Queue& queue = door_.broker.view().queue_of(*delivery.job);
  door_.format.render(*delivery.job, queue.name, door_.shown);
  append_bulk(door_.shown, output_);
  clear(door_.shown);
  fetched_.push_back({.id = delivery.job->id,
                      .reserved_at = delivery.job->reservation()->reserved_at,
                      .reply_end = output_end()});
}

void FwpSession::handle(const Ack& ack, Time now) {
  // As in the reference, a job that nobody holds is as good as acknowledged.
  static_cast<void>(door_.broker.ack(client_, ack.jid, now));
  append_ok(output_);
}

void FwpSession::handle(const Fail& fail, Time now) {
  if (door_.broker.fail(client_, fail.jid, cleaned(fail.run), now)) {
    append_ok(output_);
  } else {
    append_error(job_not_found(fail.jid), output_);
  }
}

void FwpSession::handle(const Beat& beat, Time now) {
  const auto state = door_.broker.beat(beat.wid, beat.asked, beat.rss_kb, now);
  if (state) {
    append_state(*state, output_);
  } else {
    append_error(unknown_worker(beat.wid), output_);
  }
}

// ---- everything else ----------------------------------------------------------------------------

void FwpSession::handle(const Info&, Time now) {
  append_bulk(render_info(door_, now), output_);
}

void FwpSession::handle(const Flush&, Time now) {
  if (door_.broker.flush(client_, now)) {
    append_ok(output_);
  } else {
    waiting_ = Waiting::kLongTask;
  }
}

void FwpSession::answer_long_task(std::optional<std::uint64_t> moved) {
  if (moved) {
    append_ok(output_);
  } else {
    waiting_ = Waiting::kLongTask;
  }
}

void FwpSession::handle(const PauseQueues& queues, Time now) {
  const bool is_pause = queues.action == PauseQueues::Action::kPause;
  if (is_pause && door_.broker.intake() >= Intake::kNothingLonger) {
    return append_error(kNoRoom, output_);
  }
  const std::optional<std::uint32_t> seconds =
      is_pause ? std::nullopt : std::optional<std::uint32_t>(0);
  answer_long_task(
      door_.broker.pause_queues(client_, names_of(queues, door_.broker.view()), seconds, now));
}

void FwpSession::handle(const RemoveQueues& queues, Time now) {
  answer_long_task(door_.broker.remove_queues(client_, names_of(queues, door_.broker.view()), now));
}

void FwpSession::handle(const QueueLatency& queues, Time now) {
  std::map<std::string_view, double> latencies;
  for (const std::string_view name : queues.names) {
    latencies[name] = latency_of(door_.broker.view(), name, now);
  }
  const char* separator = "";
  for (const auto& [name, seconds] : latencies) {
    door_.shown += std::exchange(separator, ",");
    append_json_string(name, door_.shown);
    door_.shown += ':';
    append_number(seconds, door_.shown);
  }
  append_bulk('{' + door_.shown + '}', output_);
  clear(door_.shown);
}

void FwpSession::handle(const Mutate& mutate, Time now) {
  answer_long_task(door_.broker.mutate(client_,
                                       {.set = mutate.set,
                                        .action = mutate.action,
                                        .matches = make_matcher(mutate.filter, door_.format)},
                                       now));
}

void FwpSession::handle(const Track&, Time) {
  append_error(kNoTracking, output_);
}

void FwpSession::handle(const Batch&, Time) {
  append_error(kNoBatches, output_);
}

void FwpSession::handle(const End&, Time) {
  append_ok(output_);
  is_closing_ = true;
}

}  // namespace millrace::faktory
