#include "faktory/session/session.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {

FaktorySession::FaktorySession(Shared& shared, std::string peer)
    // A stranger may send a short line only. After the handshake the limit is `line_bytes_max`.
    : shared_(shared), peer_(std::move(peer)), lines_(kHelloBytesMax) {}

FaktorySession::~FaktorySession() {
  if (!background_) return;
  background_->session = nullptr;
  // If it was done, nobody counts it down any more.
  if (wait_ != Wait::kBackground) return;
  background_->is_abandoned = true;
  shared_.left_behind_bytes += background_->task.kept_bytes;
}

// ---- life ---------------------------------------------------------------------------------------

std::unique_ptr<ReadAhead> FaktorySession::make_read_ahead() {
  // Shared: this may be gone before the socket is, or the other way round.
  ahead_ = std::make_shared<PushReader::Made>();
  return std::make_unique<PushReader>(ahead_);
}

void FaktorySession::receive(std::string_view bytes, Time now) {
  if (is_closing_) return;
  if (ahead_ && !ahead_->empty()) {
    for (PushAhead& push : *ahead_) {
      made_bytes_ += push.job.kept_bytes();
      made_.push_back(std::move(push));
    }
    ahead_->clear();
  }
  lines_.add(bytes);
  work_through_lines(now);
}

void FaktorySession::resume(Time now) {
  work_through_lines(now);
}

void FaktorySession::end_of_input(Time now) {
  has_input_ended_ = true;
  if (wait_ == Wait::kJob) {
    shared_.broker.stop_waiting(client_);
    wait_ = Wait::kNothing;
    // At once: the client may be waiting for the end of the connection.
    answer_fetch({.kind = Delivery::Kind::kTimedOut});
  }
  work_through_lines(now);
}

void FaktorySession::deliver(const Delivery& delivery, Time) {
  // An eviction may come at any time: it is about the worker, and not about a command. The broker
  // has then ended a wait for a job, but a long task continues, and its end can still be delivered
  // before the connection is closed.
  if (delivery.kind == Delivery::Kind::kEvicted) {
    is_closing_ = true;
    if (wait_ == Wait::kJob) wait_ = Wait::kNothing;
    return;
  }
  const bool is_of_task = delivery.kind == Delivery::Kind::kFinished;
  CHECK(wait_ == (is_of_task ? Wait::kLongTask : Wait::kJob));
  wait_ = Wait::kNothing;
  if (is_of_task) {
    shared_.broker.activity().finish(noted_, delivery.count);
    reply::ok(output_);
  } else {
    answer_fetch(delivery);
  }
}

void FaktorySession::sent(std::size_t bytes) {
  sent_ += bytes;
  CHECK(sent_ <= output_end());
  if (fetched_.empty()) return;
  const auto first_unsent =
      std::find_if(fetched_.begin(), fetched_.end(),
                   // Replies leave in order, so all before the first unsent one have left.
                   [this](const Fetched& fetched) { return fetched.reply_end > sent_; });
  fetched_.erase(fetched_.begin(), first_unsent);
  if (fetched_.empty()) fetched_.shrink_to_fit();
}

void FaktorySession::close(Time now) {
  leave_login();
  // It never shook hands, so the broker does not know it.
  if (client_ == 0) return;
  shared_.of_users.erase(this);
  // First, since a job that is given back could otherwise be delivered to this very session.
  shared_.broker.stop_waiting(client_);
  for (const Fetched& fetched : fetched_) {
    // Refused when the reservation is over: another connection of the worker has acknowledged the
    // job, or it has expired.
    static_cast<void>(shared_.broker.workers().undo_fetch(fetched.id, fetched.reserved_at, now));
  }
  CHECK(shared_.connection_count > 0);
  --shared_.connection_count;
  // That this server ends a connection does not mean that the worker has ended.
  if (!has_input_ended_ && !is_broken_) shared_.broker.workers().end(client_);
  shared_.broker.disconnect(client_, now);
  client_ = 0;
}

bool FaktorySession::wants_input() const {
  const bool is_held_up = wait_ != Wait::kNothing || background_ || pushed_ || login_ ||
                          has_long_reply() || output_.size() >= kOutputBytesPause;
  return !is_closing_ && !(is_held_up && kept_bytes() >= kPipelinedBytesMax);
}

std::size_t FaktorySession::kept_bytes() const {
  return lines_.kept_bytes() + made_bytes_ + (background_ ? background_->task.kept_bytes : 0) +
         (pushed_ ? pushed_->kept_bytes() : 0);
}

std::size_t FaktorySession::unrendered_bytes() const {
  return Session::unrendered_bytes() + (background_ ? background_->task.unrendered_bytes : 0) +
         (pushed_ ? pushed_->unrendered_bytes() : 0);
}

bool FaktorySession::wants_resume() const {
  // A login that waits for its turn is resumed by the clock, not by the loop.
  if (login_) return !is_closing_ && !login_->is_waiting();
  if (has_long_reply()) return output_.size() < kOutputBytesPause;
  return can_execute() && (background_ || pushed_ || lines_.may_have_line() || has_input_ended_);
}

// ---- lines --------------------------------------------------------------------------------------

bool FaktorySession::can_execute() const {
  return !is_closing_ && wait_ == Wait::kNothing && !has_long_reply() &&
         output_.size() < kOutputBytesPause &&
         shared_.broker.ledger().batch_bytes() < kBatchBytesPause;
}

void FaktorySession::work_through_lines(Time now) {
  if (has_long_reply()) continue_long_reply();
  if (login_ && !is_closing_) check_login(now);
  if (background_ && can_execute()) std::exchange(background_, nullptr)->task.finish(now);
  if (pushed_ && can_execute()) push_slice(now);
  const std::uint64_t steps_end = shared_.broker.step_count() + kTurnSteps;
  while (!background_ && !pushed_ && !login_ && can_execute() &&
         shared_.broker.step_count() < steps_end) {
    const std::optional<LineBuffer::Line> line = lines_.next();
    if (!line) {
      // Only now: what was sent before the end is still executed.
      is_closing_ = has_input_ended_;
      break;
    }
    execute_one(*line, now);
  }
  lines_.compact();
}

void FaktorySession::execute_one(const LineBuffer::Line& line, Time now) {
  CHECK(wait_ == Wait::kNothing);  // Replies leave in the order of their commands.
  if (client_ == 0) return shake_hands(line, now);
  // After the handshake, so that workers read the reason.
  if (shared_.is_draining) {
    reply::error(output_, reply::kShutdown);
    is_closing_ = true;
    return;
  }
  if (line.is_too_long()) {
    is_closing_ = line.is_endless;
    return reply::error(output_, reply::line_too_long(line.exceeded_bytes_max));
  }
  if (is_long(line)) return parse_in_background(line, now);
  if (std::optional<MadeJob> job = take_made()) {
    job->set_created_at(now);
    return put(*job, now);
  }
  if (last_fetch_ && last_fetch_->is(line.text)) {
    ++shared_.command_count;
    return fetch(last_fetch_->request(), now);
  }
  Result<Command, Refused> command = parse_command(line.text);
  if (!command) return reply::error(output_, reply::refusal(command.error()));
  Fetch* const fetch = std::get_if<Fetch>(&*command);
  if (fetch != nullptr) keep_allowed(fetch->queues);
  if (fetch != nullptr && LastFetch::is_worth_it(line.text, fetch->queues.size())) {
    last_fetch_ = std::make_unique<LastFetch>(line.text, fetch->queues);
  }
  execute_if_allowed(*command, now);
}

// ---- long lines ---------------------------------------------------------------------------------

bool FaktorySession::is_long(const LineBuffer::Line& line) const {
  const std::size_t bytes = line.text.size();
  if (line.pieces != nullptr) return true;
  if (shared_.settings.in_place_bytes_max) return bytes > *shared_.settings.in_place_bytes_max;
  return bytes > kInPlaceBytes && bytes > in_place_bytes_max(line.text);
}

void FaktorySession::parse_in_background(const LineBuffer::Line& line, Time now) {
  Rope text;
  if (line.pieces == nullptr) text.append(line.text);
  if (line.pieces != nullptr) text = std::move(*line.pieces);
  // Shared: the background may have it when the session is gone, and the other way round.
  const auto parsed = std::make_shared<LongLine>(std::move(text), shared_.pusher.terms(now), wid_);
  run_in_background(
      {.kept_bytes = parsed->bytes(),
       .finish = [this, parsed](Time at) { execute_long(*parsed, at); }},
      [parsed] { parsed->parse(); }, [parsed] { parsed->drop(); });
}

void FaktorySession::run_in_background(BackgroundTask task, std::function<void()> work,
                                       std::function<void()> drop) {
  // Shared with the call that tells its end.
  background_ = std::make_shared<Begun>(std::move(task), this);
  wait_ = Wait::kBackground;
  const auto work_or_drop = [begun = background_, work = std::move(work), drop = std::move(drop)] {
    begun->is_abandoned ? drop() : work();
  };
  const auto done = [begun = background_, &shared = shared_] {
    if (begun->session != nullptr) return begun->session->end_background();
    shared.left_behind_bytes -= begun->task.kept_bytes;
  };
  if (shared_.settings.background != nullptr) {
    return shared_.settings.background->run(work_or_drop, done);
  }
  work_or_drop();
  done();
}

/// What follows is done by the next `resume`.
void FaktorySession::end_background() {
  CHECK(wait_ == Wait::kBackground);
  wait_ = Wait::kNothing;
  shared_.broker.wake(client_);
}

void FaktorySession::execute_long(LongLine& line, Time now) {
  std::visit([&](auto& meaning) { execute(meaning, now); }, line.meaning());
}

void FaktorySession::execute(Result<Command, Refused>& command, Time now) {
  if (!command) return reply::error(output_, reply::refusal(command.error()));
  if (Fetch* const fetch = std::get_if<Fetch>(&*command)) keep_allowed(fetch->queues);
  execute_if_allowed(*command, now);
}

void FaktorySession::execute(Result<MadeJob, RefusedJob>& job, Time now) {
  if (job) return put(*job, now);
  ++shared_.command_count;
  reply::refused_job(output_, job.error());
}

/// The job that was made of the line at hand. nullopt: none was, or the user may push nowhere,
/// which is refused before its jobs are.
std::optional<MadeJob> FaktorySession::take_made() {
  const std::uint64_t end = lines_.position();
  std::optional<MadeJob> job;
  while (!made_.empty() && made_.front().line_end <= end) {
    MadeJob& first = made_.front().job;
    made_bytes_ -= first.kept_bytes();
    if (made_.front().line_end == end && caller_.may_anywhere(access::Right::kPush)) {
      job = std::move(first);
    }
    made_.pop_front();
  }
  return job;
}

void FaktorySession::put(MadeJob& job, Time now) {
  ++shared_.command_count;
  const auto id = shared_.pusher.put(job.job(), now, caller_, wid_);
  id ? reply::ok(output_) : refuse_job(id.error(), "push", now);
}

void FaktorySession::execute(Outcome<std::unique_ptr<JobList>>& jobs, Time now) {
  ++shared_.command_count;
  push_list(jobs, now);
}

}  // namespace millrace::faktory
