#include "faktory/session/session.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "faktory/session/reply.hpp"

namespace millrace::faktory {
FwpSession::FwpSession(DoorState& door, std::string peer)
    : door_(door), peer_(std::move(peer)), lines_(kHelloBytesMax) {}

// ---- life ---------------------------------------------------------------------------------------

void FwpSession::receive(std::string_view bytes, Time now) {
  if (is_closing_) return;
  const CountOutput count(*this);
  lines_.add(bytes);
  execute(now);
}

void FwpSession::resume(Time now) {
  const CountOutput count(*this);
  execute(now);
}

void FwpSession::end_of_input(Time now) {
  const CountOutput count(*this);
  is_input_over_ = true;
  if (waiting_ == Waiting::kJob) {
    door_.broker.stop_waiting(client_);
    waiting_ = Waiting::kNothing;
    append_nil(output_);
  }
  execute(now);
}

void FwpSession::deliver(const Delivery& delivery, Time) {
  const CountOutput count(*this);
  waiting_ = Waiting::kNothing;
  if (delivery.kind == Delivery::Kind::kEvicted) {
    is_closing_ = true;
  } else if (delivery.kind == Delivery::Kind::kFinished) {
    append_ok(output_);
  } else {
    answer_fetch(delivery);
  }
}

void FwpSession::sent(std::size_t bytes) {
  sent_ += bytes;
  if (fetched_.empty()) return;
  const auto first_unsent =
      std::find_if(fetched_.begin(), fetched_.end(),
                   [this](const Fetched& fetched) { return fetched.reply_end > sent_; });
  fetched_.erase(fetched_.begin(), first_unsent);
  if (fetched_.empty()) fetched_.shrink_to_fit();
}

void FwpSession::close(Time now) {
  leave_login();
  if (client_ == 0) return;
  // Else what is given back could go to this very session.
  door_.broker.stop_waiting(client_);
  for (const Fetched& fetched : fetched_) {
    // Refused when it is over already: acknowledged by another connection of the worker, or
    // expired.
    static_cast<void>(door_.broker.give_back(fetched.id, fetched.reserved_at, now));
  }
  --door_.connection_count;
  door_.broker.disconnect(client_, now);
  client_ = 0;
}

bool FwpSession::wants_input() const {
  const bool is_held_up =
      waiting_ != Waiting::kNothing || bulk_ || login_ || output_.size() >= kOutputBytesPause;
  return !is_closing_ && !(is_held_up && lines_.kept_bytes() >= kPipelinedBytesMax);
}

bool FwpSession::wants_resume() const {
  if (login_) return !is_closing_ && !login_->is_waiting();
  return can_execute() && (bulk_ || lines_.may_have_line() || is_input_over_);
}

// ---- lines --------------------------------------------------------------------------------------

bool FwpSession::can_execute() const {
  return !is_closing_ && waiting_ == Waiting::kNothing && output_.size() < kOutputBytesPause &&
         door_.broker.ledger().batch_bytes() < kBatchBytesPause;
}

void FwpSession::execute(Time now) {
  if (login_ && !is_closing_) check_login(now);
  if (bulk_ && can_execute()) work_bulk(now);
  const std::uint64_t steps_end = door_.broker.step_count() + kTurnSteps;
  while (!bulk_ && !login_ && can_execute() && door_.broker.step_count() < steps_end) {
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

}  // namespace millrace::faktory
