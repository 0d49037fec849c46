#include "beanstalk/session.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::beanstalk {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// `GET /path`, `OPTIONS *`, and what is sent to a proxy: `POST http://host/`, or with any target
/// `CONNECT host:443 HTTP/1.1`. Blanks in any number and kind, since some readers take them.
bool is_request_line(std::string_view line) {
  line = line.substr(0, line.find('\n'));
  const auto method_end = std::find_if_not(line.begin(), line.end(), is_upper);
  const auto target = std::find_if_not(method_end, line.end(), is_blank);
  if (method_end == line.begin() || target == method_end) return false;
  const std::string_view rest(target, line.end());
  return rest.starts_with('/') || rest.starts_with('*') || rest.starts_with("http") ||
         rest.find("HTTP/") != rest.npos;
}

/// Whether a line that is no command is of a web browser: the first line or the Host of an HTTP
/// request, or the beginning of TLS. A page of any site can make its visitor's browser send these
/// to a port of the visitor's network, and text of its own after them. No command begins so.
bool is_foreign(std::string_view line) {
  // A handshake record of TLS, any version (RFC 8446, section 5.1).
  if (line.starts_with("\x16\x03")) return true;
  constexpr std::string_view kHost = "host:";
  return is_request_line(line) || lower_case(line.substr(0, kHost.size())) == kHost;
}

}  // namespace

void BeanstalkSession::start(Time) {
  client_ = shared_.broker.connect(*this);
  shared_.broker.connections().use(client_, kDefaultQueue).value();
  if (caller_.may(access::Right::kWork, kDefaultQueue)) {
    shared_.broker.connections().watch(client_, kDefaultQueue).value();
  }
  if (caller_.is_limited()) shared_.of_users.insert(this);
  ++shared_.counters.connections;
  ++shared_.counters.total_connections;
}

void BeanstalkSession::close(Time now) {
  shared_.of_users.erase(this);
  // Its jobs are released in there, and may be delivered to others at once.
  shared_.broker.disconnect(client_, now);
  Counters& counters = shared_.counters;
  CHECK(counters.connections > 0);
  CHECK(counters.producers >= (is_producer_ ? 1 : 0));
  CHECK(counters.workers >= (is_worker_ ? 1 : 0));
  --counters.connections;
  if (is_producer_) --counters.producers;
  if (is_worker_) --counters.workers;
}

void BeanstalkSession::receive(std::string_view bytes, Time now) {
  if (is_closing_) return;
  // Most commands arrive whole and are executed where they are: only the rest is copied.
  if (inbox_.empty()) bytes.remove_prefix(execute_from(bytes, now));
  if (bytes.empty() || is_closing_) return;
  inbox_ += bytes;
  work_through_inbox(now);
}

void BeanstalkSession::resume(Time now) {
  if (has_long_reply()) continue_long_reply();
  if (listing_) list_slice();
  work_through_inbox(now);
}

void BeanstalkSession::end_of_input(Time now) {
  has_input_ended_ = true;
  if (wait_ == Wait::kJob) {
    shared_.broker.stop_waiting(client_);
    answer_without_job(reply::kTimedOut);
    wait_ = Wait::kNothing;
  }
  work_through_inbox(now);
}

void BeanstalkSession::deliver(const Delivery& delivery, Time) {
  const bool is_of_task = delivery.kind == Delivery::Kind::kFinished;
  // The broker delivers only what the session waits for.
  CHECK(wait_ == (is_of_task ? Wait::kLongTask : Wait::kJob));
  wait_ = Wait::kNothing;
  switch (delivery.kind) {
    case Delivery::Kind::kJob:
      answer_reserved(*delivery.job);
      break;
    case Delivery::Kind::kTimedOut:
      answer_without_job(reply::kTimedOut);
      break;
    case Delivery::Kind::kDeadlineSoon:
      answer_without_job(reply::kDeadlineSoon);
      break;
    case Delivery::Kind::kFinished:
      reply::kicked(output_, delivery.count);
      break;
    case Delivery::Kind::kNoRoom:
      output_ += reply::kOutOfMemory;
      break;
    case Delivery::Kind::kEvicted:
      CHECK(false);  // Only connections of FWP workers are evicted.
  }
}

bool BeanstalkSession::wants_input() const {
  if (is_closing_ || has_input_ended_) return false;
  // While it can execute it empties the inbox: a body may be larger than the limit.
  return can_execute() || inbox_bytes() < kPipelinedBytesMax;
}

bool BeanstalkSession::wants_resume() const {
  if (has_long_reply()) return output_.size() < kOutputBytesPause;
  return listing_ || (can_execute() && inbox_bytes() >= bytes_needed_);
}

bool BeanstalkSession::wants_close() const {
  if (has_long_reply()) return false;
  if (is_closing_) return true;
  return has_input_ended_ && wait_ == Wait::kNothing && !listing_ && inbox_bytes() < bytes_needed_;
}

bool BeanstalkSession::can_execute() const {
  return !is_closing_ && wait_ == Wait::kNothing && !listing_ && !has_long_reply() &&
         // A client that does not read is not served: its replies would fill the memory.
         output_.size() < kOutputBytesPause &&
         // The records of a turn are bounded (docs/internals/decisions/slices.md).
         shared_.broker.ledger().batch_bytes() < kBatchBytesPause;
}

void BeanstalkSession::work_through_inbox(Time now) {
  inbox_begin_ += execute_from(std::string_view{inbox_}.substr(inbox_begin_), now);
  if (inbox_begin_ == inbox_.size() || is_closing_) {
    std::string{}.swap(inbox_);  // An idle connection keeps no buffer.
    inbox_begin_ = 0;
  } else if (inbox_begin_ >= kPipelinedBytesMax / 2) {
    // Not sooner, since each erase moves what is left: so each byte is moved once at most.
    inbox_.erase(0, inbox_begin_);
    inbox_begin_ = 0;
  }
}

/// Executes as many commands as it may, and returns how many bytes of the input they were. A client
/// whose commands take many steps continues in the next turn, so that others get theirs.
std::size_t BeanstalkSession::execute_from(std::string_view input, Time now) {
  std::size_t consumed = 0;
  const std::uint64_t steps_end = shared_.broker.step_count() + kTurnSteps;
  // `bytes_needed_` keeps a half-arrived body from being parsed anew with each of its pieces.
  while (can_execute() && input.size() - consumed >= bytes_needed_ &&
         shared_.broker.step_count() < steps_end) {
    std::string_view rest = input.substr(consumed);
    consumed += skip_ ? skip(rest) : long_put_ ? take_body(rest, now) : execute_one(rest, now);
    CHECK(consumed <= input.size());
  }
  return consumed;
}

std::size_t BeanstalkSession::skip(std::string_view input) {
  bytes_needed_ = 1;
  SkippedLine skipped;
  if (skip_->is_line) {
    skipped = skip_line(input);
    // A CR that was left needs the byte after it.
    bytes_needed_ = input.size() - skipped.consumed + 1;
  } else {
    skipped.consumed = std::min<std::uint64_t>(skip_->bytes, input.size());
    skip_->bytes -= skipped.consumed;
    skipped.is_complete = skip_->bytes == 0;
  }
  if (!skipped.is_complete) return skipped.consumed;
  bytes_needed_ = 1;
  output_ += skip_->reply;
  skip_.reset();
  return skipped.consumed;
}

/// The memory is there before the body, so a client cannot send more than there is.
void BeanstalkSession::begin(const LongPut& arriving, Time now) {
  const std::uint64_t skip_bytes = std::uint64_t{arriving.body_bytes} + kLineEnd.size();
  if (!allows(arriving.put)) {
    note_refused(command_index<Put>(), std::string(used_tube().name), now);
    return refuse({Refused::Reason::kUnknownCommand, skip_bytes, command_index<Put>()});
  }
  std::optional<LongBody> body = LongBody::try_make(arriving.body_bytes);
  if (!body) return refuse({Refused::Reason::kOutOfMemory, skip_bytes, command_index<Put>()});
  long_put_ =
      std::make_unique<ArrivingPut>(ArrivingPut{.put = arriving.put, .body = std::move(*body)});
}

/// The body is copied as it arrives, into the memory that the job will have: so the last piece
/// costs no more than the first.
std::size_t BeanstalkSession::take_body(std::string_view input, Time now) {
  bytes_needed_ = 1;
  LongBody& body = long_put_->body;
  const std::string_view some = input.substr(0, body.missing_bytes());
  body.append(some);
  const std::string_view rest = input.substr(some.size());
  if (body.missing_bytes() > 0) return some.size();
  if (rest.size() < kLineEnd.size()) {
    bytes_needed_ = kLineEnd.size();
    return some.size();
  }
  const std::unique_ptr<ArrivingPut> put = std::move(long_put_);
  if (!rest.starts_with(kLineEnd)) {
    refuse({Refused::Reason::kExpectedCrlf, 0, command_index<Put>()});
  } else {
    ++shared_.counters.commands[command_index<Put>()];
    put->put.body = put->body.view();
    execute(put->put, &put->body, now);
  }
  return some.size() + kLineEnd.size();
}

std::size_t BeanstalkSession::execute_one(std::string_view input, Time now) {
  Parsed parsed = parse_command(input, shared_.settings.job_bytes_max);
  if (const auto* more = std::get_if<NeedMore>(&parsed.result)) {
    bytes_needed_ = more->bytes;
    return parsed.consumed;
  }
  bytes_needed_ = 1;
  if (const auto* arriving = std::get_if<LongPut>(&parsed.result)) {
    begin(*arriving, now);
    return parsed.consumed;
  }
  if (const auto* refused = std::get_if<Refused>(&parsed.result)) {
    if (is_foreign(input)) {
      // Not even the reply to a long line, which would come after the rest of it.
      is_closing_ = true;
      output_ += reply::kUnknownCommand;
      return parsed.consumed;
    }
    refuse(*refused);
    return parsed.consumed;
  }
  const Command& command = std::get<Command>(parsed.result);
  // Counted before it runs: `stats` shows itself, as in beanstalkd.
  ++shared_.counters.commands[command.index()];
  if (caller_.is_limited()) {
    execute_allowed(command, now);
  } else {
    std::visit([this, now](const auto& each) { execute(each, now); }, command);
  }
  return parsed.consumed;
}

void BeanstalkSession::refuse(const Refused& refused) {
  if (refused.counts_as) ++shared_.counters.commands[*refused.counts_as];
  // beanstalkd counts a client as a producer before the body has arrived.
  const bool is_put = refused.reason == Refused::Reason::kExpectedCrlf ||
                      refused.reason == Refused::Reason::kOutOfMemory;
  if (is_put) mark_producer();
  std::string_view reply = reply::refusal(refused);
  bool is_line = refused.reason == Refused::Reason::kLineTooLong;
  // The reply follows when the rest of the line or body was skipped, as in beanstalkd.
  if (is_line || refused.skip_bytes > 0) {
    skip_ = Skip{is_line, refused.skip_bytes, reply};
  } else {
    output_ += reply;
  }
}

}  // namespace millrace::beanstalk
