#include "engines/nats/nats_publisher.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/number.hpp"

namespace millrace::engines {
namespace {

using journal::Sequence;

/// Longer messages are slower to copy from server to server than several of this length.
constexpr std::size_t kMessageBytesMax = std::size_t{1} << 20;
/// Of a message, for our headers.
constexpr std::size_t kHeaderBytesMax = 512;
constexpr std::size_t kPartBytesMin = 512;
/// They are stored within `kAnswerMax` even by slow disks. Servers refuse messages when 128 MB of a
/// stream wait to be stored.
constexpr std::size_t kSentBytesMax = std::size_t{8} << 20;
constexpr std::size_t kSentMessagesMax = 2000;

constexpr std::uint64_t kWrongLastSequence = 10071;
constexpr std::uint64_t kWrongLastSequenceConstant = 10164;

/// The number after a key of a JSON object that the server made. 0: there is none.
std::uint64_t number_after(std::string_view json, std::string_view key) {
  std::size_t at = json.find(key);
  if (at == std::string_view::npos) return 0;
  at = json.find_first_not_of(" :", at + key.size());
  if (at == std::string_view::npos) return 0;
  const std::size_t end = json.find_first_not_of("0123456789", at);
  return parse_number<std::uint64_t>(json.substr(at, end - at)).value_or(0);
}

/// The text after a key, which has no escaped quotes in it.
std::string_view text_after(std::string_view json, std::string_view key) {
  std::size_t at = json.find(key);
  if (at == std::string_view::npos) return {};
  at = json.find('"', json.find(':', at + key.size()));
  if (at == std::string_view::npos) return {};
  return json.substr(at + 1, json.find('"', at + 1) - at - 1);
}

}  // namespace

NatsPublisher::NatsPublisher(NatsConnection& connection, std::string stream, std::string subject)
    : connection_(connection), stream_(std::move(stream)), subject_(std::move(subject)) {}

Outcome<Done> NatsPublisher::open(Time now) {
  if (part_bytes_max() < kPartBytesMin) {
    return Problem{"the NATS servers' max_payload is below 1024 bytes"};
  }
  // The library made the name of the inbox unique.
  run_prefix_ = connection_.inbox().substr(connection_.inbox().rfind('.') + 1);
  acknowledgements_ = connection_.subscribe(connection_.inbox() + ".ack.*", now);
  if (acknowledgements_ == nullptr) return nats_problem(NATS_CONNECTION_DISCONNECTED);
  return Done{};
}

std::size_t NatsPublisher::part_bytes_max() const {
  const auto payload_max = std::max<std::int64_t>(
      natsConnection_GetMaxPayload(connection_.handle()), kHeaderBytesMax + 1);
  return std::min(static_cast<std::size_t>(payload_max), kMessageBytesMax) - kHeaderBytesMax;
}

void NatsPublisher::append(journal::LogService::Entry entry, Time now) {
  const Sequence expected_last = entry.first - 1;
  const Sequence last = entry.last;
  pending_.push_back({.entry = std::move(entry)});
  if (is_refusing_) return refuse(refusal_, "");
  if (run_.empty() || expected_last != tail_) begin_run(expected_last);
  if (sent_.empty()) is_alone_ = true;
  tail_ = last;
  send(now);
}

/// What the append expects was read or acknowledged, so it does not change.
void NatsPublisher::begin_run(Sequence known) {
  run_ = run_prefix_ + "-" + std::to_string(++runs_);
  known_ = known;
}

void NatsPublisher::send(Time now) {
  while (first_unsent_ < pending_.size()) {
    Pending& pending = pending_[first_unsent_];
    if (!may_send()) return;
    if (const natsStatus status = send_part(pending, now); status != NATS_OK) {
      const bool is_too_long = status == NATS_MAX_PAYLOAD;
      return refuse(is_too_long ? Refusal::kTooLong : Refusal::kUnknown, nats_problem(status).text);
    }
    if (++pending.sent < pending.entry.message_count()) continue;
    pending.entry.bytes = {};
    ++first_unsent_;
  }
}

bool NatsPublisher::may_send() const {
  if (sent_.empty()) return true;
  return !is_alone_ && sent_bytes_ < kSentBytesMax && sent_.size() < kSentMessagesMax;
}

natsStatus NatsPublisher::send_part(const Pending& pending, Time now) {
  const Sequence sequence = pending.entry.first + pending.sent;
  const std::string_view part = pending.entry.part(sequence);
  const std::uint64_t id = next_id_++;
  const std::string reply = connection_.inbox() + ".ack." + std::to_string(id);
  natsMsg* raw = nullptr;
  natsStatus status = natsMsg_Create(&raw, subject_.c_str(), reply.c_str(), part.data(),
                                     static_cast<int>(part.size()));
  if (status != NATS_OK) return status;
  const NatsMessage message(raw);
  const NatsEntryHeader entry_header{
      .run = run_,
      .known = known_,
      .part = static_cast<std::uint32_t>(pending.sent + 1),
      .parts = static_cast<std::uint32_t>(pending.entry.message_count())};
  const std::string header = to_text(entry_header);
  status =
      natsMsgHeader_Set(raw, "Nats-Expected-Last-Sequence", std::to_string(sequence - 1).c_str());
  if (status == NATS_OK) status = natsMsgHeader_Set(raw, kNatsEntryHeader, header.c_str());
  if (status == NATS_OK) status = connection_.publish(*raw);
  if (status != NATS_OK) return status;
  const bool is_last_part = sequence == pending.entry.last;
  sent_.push_back({.id = id,
                   .sequence = sequence,
                   .bytes = part.size(),
                   .is_last_part = is_last_part,
                   .at = now,
                   .answer = std::nullopt});
  sent_bytes_ += part.size();
  return status;
}

bool NatsPublisher::receive(NatsMailbox::Arrival& arrival, Time now) {
  if (arrival.subscription != acknowledgements_->number()) return false;
  const NatsMessage message = std::move(arrival.message);
  const std::string_view subject = natsMsg_GetSubject(message.get());
  const auto id = parse_number<std::uint64_t>(subject.substr(subject.rfind('.') + 1)).value_or(0);
  // Those of before the last refusal are not there any more.
  if (sent_.empty() || id < sent_.front().id || id > sent_.back().id) return true;
  note(sent_[id - sent_.front().id], *message);
  settle();
  send(now);
  return true;
}

void NatsPublisher::note(Sent& sent, const natsMsg& answer) const {
  const std::string_view text = bytes_of(answer);
  const std::uint64_t error = number_after(text, "\"err_code\"");
  if (error != 0) {
    const bool is_conflict = error == kWrongLastSequence || error == kWrongLastSequenceConstant;
    sent.refusal = is_conflict ? Refusal::kConflict : Refusal::kUnknown;
    sent.answer = Problem{"NATS says: " + std::string(text_after(text, "\"description\""))};
  } else if (natsMsg_IsNoResponders(const_cast<natsMsg*>(&answer))) {
    sent.answer = nats_problem(NATS_NO_RESPONDERS);
  } else if (text_after(text, "\"stream\"") == stream_ &&
             number_after(text, "\"seq\"") == sent.sequence) {
    sent.answer = Done{};
  } else {
    sent.answer = Problem{"NATS acknowledges another message"};
  }
}

/// Answers the appends at the front, whose messages all have their answers.
void NatsPublisher::settle() {
  while (!sent_.empty() && sent_.front().answer) {
    const Sent& front = sent_.front();
    if (!*front.answer) {
      const std::string text = front.answer->error().text;
      return refuse(front.refusal, text);
    }
    known_ = front.sequence;
    is_alone_ = false;
    sent_bytes_ -= front.bytes;
    if (front.is_last_part) {
      answers_.push_back({pending_.front().entry.last, std::nullopt, {}});
      pending_.pop_front();
      --first_unsent_;
    }
    sent_.pop_front();
  }
}

/// Ends the run: all that is in flight is refused in the same way. After a conflict, none of the
/// later messages belongs to the log, since the one before it does not.
void NatsPublisher::refuse(Refusal refusal, std::string problem) {
  for (const Pending& pending : pending_) {
    answers_.push_back({pending.entry.last, refusal, std::exchange(problem, {})});
  }
  is_refusing_ = !pending_.empty() || is_refusing_;
  refusal_ = refusal;
  pending_.clear();
  first_unsent_ = 0;
  sent_.clear();
  sent_bytes_ = 0;
  run_.clear();
}

void NatsPublisher::lose_connection() {
  if (!pending_.empty()) refuse(Refusal::kUnknown, nats_problem(NATS_CONNECTION_DISCONNECTED).text);
}

void NatsPublisher::proceed(Time now) {
  if (const std::optional<Time> deadline = due(); deadline && *deadline <= now) {
    return refuse(Refusal::kUnknown, "NATS did not acknowledge in time");
  }
  send(now);
}

std::optional<NatsPublisher::Time> NatsPublisher::due() const {
  if (sent_.empty()) return std::nullopt;
  return sent_.front().at + std::chrono::duration_cast<Time::duration>(journal::kAnswerMax);
}

std::vector<journal::LogService::Answer> NatsPublisher::take_answers() {
  is_refusing_ = false;
  return std::exchange(answers_, {});
}

}  // namespace millrace::engines
