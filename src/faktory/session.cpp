#include "faktory/session.hpp"

#include <utility>
#include <variant>

#include "faktory/failed_run.hpp"
#include "faktory/info.hpp"
#include "faktory/pushed_job.hpp"
#include "faktory/reply.hpp"
#include "faktory/text.hpp"

namespace millrace::faktory {
namespace {

/// Buffers above this are freed after use.
constexpr std::size_t kKeptBufferBytesMax = 256 * 1024;

/// HELLO versions below this hash the password once, whatever HI asked for.
constexpr std::int64_t kIteratingVersion = 2;

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBufferBytesMax) buffer.shrink_to_fit();
}

}  // namespace

FwpSession::FwpSession(DoorState& door) : door_(door), lines_(kHelloBytesMax) {}

// ---- life ---------------------------------------------------------------------------------------

void FwpSession::start(Time now) {
  close_at_ = now + kHandshakeLimit;
  if (!door_.settings.password.empty()) challenge_ = make_challenge(door_.settings.random);
  append_hi(challenge_, output_);
}

void FwpSession::receive(std::string_view bytes, Time now) {
  if (is_closing_) return;
  lines_.add(bytes);
  execute(now);
}

void FwpSession::resume(Time now) {
  execute(now);
}

void FwpSession::end_of_input(Time now) {
  is_input_over_ = true;
  if (waiting_ == Waiting::kJob) {
    door_.broker.stop_waiting(client_);
    waiting_ = Waiting::kNothing;
    append_nil(output_);
  }
  execute(now);
}

void FwpSession::deliver(const Delivery& delivery, Time) {
  const Waiting waited_for = std::exchange(waiting_, Waiting::kNothing);
  if (delivery.kind == Delivery::Kind::kEvicted) {
    is_closing_ = true;
  } else if (waited_for == Waiting::kFlush) {
    append_ok(output_);
  } else {
    answer_fetch(delivery);
  }
}

void FwpSession::close(Time now) {
  if (client_ == 0) return;
  --door_.connection_count;
  door_.broker.disconnect(client_, now);
  client_ = 0;
}

bool FwpSession::wants_input() const {
  const bool is_held_up =
      waiting_ != Waiting::kNothing || bulk_ || output_.size() >= kOutputBytesPause;
  return !is_closing_ && !(is_held_up && lines_.kept_bytes() >= kPipelinedBytesMax);
}

bool FwpSession::wants_resume() const {
  return can_execute() && (bulk_ || lines_.may_have_line() || is_input_over_);
}

// ---- lines --------------------------------------------------------------------------------------

bool FwpSession::can_execute() const {
  return !is_closing_ && waiting_ == Waiting::kNothing && output_.size() < kOutputBytesPause;
}

void FwpSession::execute(Time now) {
  if (bulk_ && can_execute()) push_slice(now);
  while (!bulk_ && can_execute()) {
    const std::optional<LineBuffer::Line> line = lines_.next();
    if (!line) {
      is_closing_ = is_input_over_;
      break;
    }
    execute_line(*line, now);
  }
  lines_.compact();
}

void FwpSession::execute_line(const LineBuffer::Line& line, Time now) {
  if (client_ == 0) return shake_hands(line, now);
  if (door_.is_draining) {
    append_error(kShutdown, output_);
    is_closing_ = true;
    return;
  }
  if (line.is_too_long) {
    return append_error(line_too_long(door_.settings.line_bytes_max), output_);
  }
  const Result<Command, CommandFault> command = parse_command(line.text);
  if (!command) return append_error(fault_text(command.error()), output_);
  ++door_.command_count;
  std::visit([&](const auto& typed) { handle(typed, now); }, *command);
}

// ---- handshake ----------------------------------------------------------------------------------

bool FwpSession::knows_password(const Hello& hello) const {
  if (!challenge_) return true;
  Challenge challenge = *challenge_;
  if (hello.version < kIteratingVersion) challenge.iterations = 1;
  return is_same_hash(hello.password_hash, password_hash(door_.settings.password, challenge));
}

void FwpSession::shake_hands(const LineBuffer::Line& line, Time now) {
  std::optional<Hello> hello = parse_hello(line.text);
  if (!hello || !knows_password(*hello)) {
    if (hello) append_error(kInvalidPassword, output_);
    is_closing_ = true;
    return;
  }
  client_ = door_.broker.connect(*this);
  ++door_.connection_count;
  wid_ = hello->worker.wid;
  if (!wid_.empty()) {
    const auto registered = door_.broker.register_worker(client_, std::move(hello->worker), now);
    is_closing_ = !registered.has_value();
  }
  close_at_ = kNever;
  challenge_.reset();
  lines_.set_limit(door_.settings.line_bytes_max);
  append_ok(output_);
}

// ---- producers ----------------------------------------------------------------------------------

void FwpSession::handle(const Push& push, Time now) {
  const Outcome<JobMembers> members = door_.reader.read(push.json);
  std::optional<JobFault> fault;
  if (members) {
    const Result<NewJob, JobFault> job = make_pushed_job(*members, now, door_.pushed);
    if (!job || !door_.broker.put(*job, now)) {
      fault = job ? JobFault{JobFault::Kind::kQueueNameTooLong, {}} : job.error();
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
  Bulk bulk;
  const Outcome<Done> read = door_.reader.read_each(push.json, [&](const JobMembers& members) {
    BulkJob next;
    const Result<NewJob, JobFault> job = make_pushed_job(members, now, next.body);
    if (!job) {
      bulk.faults[std::string(members.jid)] = fault_text(job.error());
      return;
    }
    next.jid = members.jid;
    next.queue = job->queue;
    next.job = *job;
    bulk.jobs.push_back(std::move(next));
  });
  door_.reader.shrink();
  if (!read) {
    const JobFault fault{JobFault::Kind::kInvalidJson, read.error().text};
    return append_error(fault_text(fault), output_);
  }
  bulk_ = std::move(bulk);
  push_slice(now);
}

void FwpSession::push_slice(Time now) {
  Bulk& bulk = *bulk_;
  for (std::size_t i = 0; i < kSliceJobs && bulk.done < bulk.jobs.size(); ++i, ++bulk.done) {
    BulkJob& next = bulk.jobs[bulk.done];
    next.job.queue = next.queue;
    next.job.body = next.body;
    if (!door_.broker.put(next.job, now)) {
      bulk.faults[next.jid] = fault_text(JobFault{JobFault::Kind::kQueueNameTooLong, {}});
    }
    next = BulkJob{};
  }
  if (bulk.done < bulk.jobs.size()) return;
  const char* separator = "";
  for (const auto& [jid, text] : bulk.faults) {
    door_.shown += std::exchange(separator, ",");
    append_json_string(jid, door_.shown);
    door_.shown += ':';
    append_json_string(text, door_.shown);
  }
  append_bulk('{' + door_.shown + '}', output_);
  clear(door_.shown);
  bulk_.reset();
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
  if (delivery.kind != Delivery::Kind::kJob) return append_nil(output_);
  const Queue& queue = door_.broker.view().queue_of(*delivery.job);
  door_.format.render(*delivery.job, queue.name, door_.shown);
  append_bulk(door_.shown, output_);
  clear(door_.shown);
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
    waiting_ = Waiting::kFlush;
  }
}

void FwpSession::handle(const PauseQueues& queues, Time now) {
  std::vector<std::string> names(queues.names.begin(), queues.names.end());
  if (queues.is_all) {
    names.clear();
    door_.broker.view().each_queue([&](const Queue& queue) { names.push_back(queue.name); });
  }
  const bool is_pause = queues.action == PauseQueues::Action::kPause;
  const std::optional<std::uint32_t> seconds =
      is_pause ? std::nullopt : std::optional<std::uint32_t>(0);
  for (const std::string& name : names) {
    if (!is_queue_name(name)) continue;  // a tube that only the beanstalk door reaches
    // An unknown queue is passed over without a word, as in the reference.
    static_cast<void>(door_.broker.pause(name, seconds, now));
  }
  append_ok(output_);
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
