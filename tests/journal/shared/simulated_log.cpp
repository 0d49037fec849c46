#include "journal/shared/simulated_log.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

/// With threads, a server that follows looks so often.
constexpr std::chrono::milliseconds kLookAgain{1};

}  // namespace

// ---- the engine ---------------------------------------------------------------------------------

Sequence SimulatedLog::begin() const {
  const std::lock_guard guard(mutex_);
  return begin_;
}

Sequence SimulatedLog::last() const {
  const std::lock_guard guard(mutex_);
  return begin_ + messages_.size() - 1;
}

bool SimulatedLog::append(Sequence expected_last, Message message) {
  const std::lock_guard guard(mutex_);
  if (checks_expected_last && expected_last != begin_ + messages_.size() - 1) return false;
  messages_.push_back(std::move(message));
  return true;
}

void SimulatedLog::trim(Sequence before) {
  const std::lock_guard guard(mutex_);
  while (begin_ < before && messages_.size() > 1) {
    messages_.pop_front();
    ++begin_;
  }
}

void SimulatedLog::set_back(Sequence last) {
  const std::lock_guard guard(mutex_);
  while (begin_ + messages_.size() - 1 > last) messages_.pop_back();
}

SimulatedLog::Message SimulatedLog::at(Sequence sequence) const {
  const std::lock_guard guard(mutex_);
  CHECK(sequence >= begin_);
  CHECK(sequence < begin_ + messages_.size());
  return messages_[sequence - begin_];
}

void SimulatedLog::replace(Sequence sequence, Message message) {
  const std::lock_guard guard(mutex_);
  CHECK(sequence >= begin_);
  CHECK(sequence < begin_ + messages_.size());
  messages_[sequence - begin_] = std::move(message);
}

// ---- a connection -------------------------------------------------------------------------------

Sequence SimulatedLogService::message_count(std::size_t bytes) const {
  return (std::max<std::size_t>(bytes, 1) - 1) / log_.message_bytes_max + 1;
}

void SimulatedLogService::wake() noexcept {
  {
    const std::lock_guard guard(mutex_);
    is_woken_ = true;
  }
  woken_.notify_one();
}

void SimulatedLogService::wait(Duration longest) {
  if (longest == Duration{}) return;
  std::unique_lock guard(mutex_);
  woken_.wait_for(guard, longest, [this] { return is_woken_; });
  is_woken_ = false;
}

Outcome<LogService::Extent> SimulatedLogService::extent() {
  if (is_cut_off) return Problem{"the engine cannot be reached"};
  return Extent{.begin = log_.begin(), .last = log_.last()};
}

Outcome<LogService::Chunk> SimulatedLogService::follow(Sequence after, std::size_t bytes_max,
                                                       Duration longest) {
  if (log_.last() == after) wait(std::min<Duration>(longest, kLookAgain));
  if (is_cut_off) return Problem{"the engine cannot be reached"};
  Chunk chunk{.entries = {}, .seen = after};
  if (after + 1 < log_.begin()) {
    chunk.is_trimmed = true;
    return chunk;
  }
  if (partial_.last != after) partial_ = {};
  const Sequence visible = log_.last() - std::min<Sequence>(lag, log_.last());
  std::size_t bytes = 0;
  while (chunk.seen < visible && bytes < bytes_max) {
    const SimulatedLog::Message message = log_.at(++chunk.seen);
    // A writer that was refused in the middle of an entry left a beginning, and the next one began
    // anew.
    if (message.is_begin) partial_ = {.first = chunk.seen, .last = 0, .bytes = {}};
    if (partial_.first == 0) continue;
    partial_.bytes += message.bytes;
    partial_.last = chunk.seen;
    if (!message.is_end) continue;
    bytes += partial_.bytes.size();
    chunk.entries.push_back(std::exchange(partial_, {}));
  }
  return chunk;
}

void SimulatedLogService::append(Entry entry) {
  const std::uint64_t number = ++appends_;
  waiting_.push_back({.number = number, .last = entry.last});
  // What is sent over a broken connection is gone.
  if (!is_cut_off) requests_.push_back({.number = number, .entry = std::move(entry)});
  if (delivery_ == Delivery::kAtOnce) answer_all();
}

void SimulatedLogService::answer_all() {
  while (deliver_request()) {
  }
  while (deliver_answer()) {
  }
  if (is_cut_off) time_out();
}

SimulatedLogService::Reply SimulatedLogService::answer(const Request& request) {
  Reply reply{.number = request.number};
  if (!log_.refuses_with.empty()) {
    reply.refusal = Refusal::kUnknown;
    reply.problem = log_.refuses_with;
  } else if (request.entry.part(request.entry.first).size() > log_.message_bytes_max) {
    reply.refusal = Refusal::kTooLong;
  } else if (!store(request.entry)) {
    reply.refusal = Refusal::kConflict;
  }
  return reply;
}

bool SimulatedLogService::store(const Entry& entry) {
  for (Sequence at = entry.first; at <= entry.last; ++at) {
    SimulatedLog::Message part{.bytes = std::string(entry.part(at)),
                               .is_begin = at == entry.first,
                               .is_end = at == entry.last};
    if (!log_.append(at - 1, std::move(part))) return false;
  }
  return true;
}

bool SimulatedLogService::deliver_request() {
  if (requests_.empty() || is_cut_off) return false;
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  replies_.push_back(answer(request));
  return true;
}

bool SimulatedLogService::deliver_beginning() {
  if (requests_.empty() || is_cut_off) return false;
  const Entry& entry = requests_.front().entry;
  if (entry.message_count() < 2) return false;
  log_.append(entry.first - 1,
              {.bytes = std::string(entry.part(entry.first)), .is_begin = true, .is_end = false});
  requests_.pop_front();
  return true;
}

bool SimulatedLogService::lose_request() {
  if (requests_.empty()) return false;
  requests_.pop_front();
  return true;
}

bool SimulatedLogService::deliver_answer() {
  if (replies_.empty() || is_cut_off) return false;
  const Reply reply = replies_.front();
  replies_.pop_front();
  for (Waiting& append : waiting_) {
    if (append.number != reply.number) continue;
    append.is_answered = true;
    append.refusal = reply.refusal;
    append.problem = reply.problem;
  }
  return true;
}

void SimulatedLogService::time_out() {
  for (Waiting& append : waiting_) {
    if (append.is_answered) continue;
    append.is_answered = true;
    append.refusal = Refusal::kUnknown;
  }
}

std::uint64_t SimulatedLogService::oldest_unanswered() const {
  for (const Waiting& append : waiting_) {
    if (!append.is_answered) return append.number;
  }
  return 0;
}

std::vector<LogService::Answer> SimulatedLogService::answers(Duration longest) {
  if (waiting_.empty()) wait(longest);
  std::vector<Answer> answers;
  bool is_refused = false;
  while (!waiting_.empty() && (waiting_.front().is_answered || is_refused)) {
    Waiting append = waiting_.front();
    waiting_.pop_front();
    // The answers of those behind are not waited for.
    if (is_refused && !append.refusal) append.refusal = Refusal::kUnknown;
    is_refused = append.refusal.has_value();
    answers.push_back({.last = append.last, .refusal = append.refusal, .problem = append.problem});
  }
  return answers;
}

Outcome<Done> SimulatedLogService::trim(Sequence before) {
  if (is_cut_off) return Problem{"the engine cannot be reached"};
  log_.trim(before);
  return Done{};
}

}  // namespace millrace::journal
