#include "engines/nats/nats_reader.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/number.hpp"

namespace millrace::engines {
namespace {

using Json = nlohmann::json;

/// {"state": {"last_seq": 5, ...}, ...}; 0: an error, or something else.
journal::Sequence end_in(std::string_view answer) {
  const Json info = Json::parse(answer, nullptr, false);
  if (!info.is_object() || !info.contains("state")) return 0;
  const Json& state = info["state"];
  if (!state.is_object() || !state.contains("last_seq")) return 0;
  const Json& last = state["last_seq"];
  return last.is_number_unsigned() ? last.get<journal::Sequence>() : 0;
}

using journal::Sequence;

/// The server says at least so often that it is there.
constexpr std::int64_t kHeartbeatNs = 500'000'000;
constexpr std::chrono::milliseconds kSilenceMax{1600};
/// Mostly it answers within milliseconds that it begins. But for a while after the death of one of
/// three servers, a third of all consumers is placed on the dead one, and nobody answers. So the
/// wait is short at first, and twice as long each time, since a busy server is slow.
constexpr std::chrono::milliseconds kFirstWait{100};
/// Until then the stream itself is asked so often, for so many messages at once.
constexpr std::chrono::milliseconds kLookWait{100};
constexpr int kLooksMax = 64;
constexpr std::chrono::milliseconds kLooksTime{100};
/// Between two tries to begin.
constexpr std::chrono::milliseconds kRetryWait{250};

std::string begin_request(const std::string& stream, const std::string& deliver_to,
                          Sequence first) {
  return "{\"stream_name\":\"" + stream + "\",\"config\":{\"deliver_subject\":\"" + deliver_to +
         "\",\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":" + std::to_string(first) +
         ",\"ack_policy\":\"none\",\"max_deliver\":1,\"replay_policy\":\"instant\"" +
         ",\"flow_control\":true,\"idle_heartbeat\":" + std::to_string(kHeartbeatNs) +
         ",\"mem_storage\":true,\"num_replicas\":1}}";
}

std::string_view header_of(const natsMsg& message, const char* name) {
  const char* value = nullptr;
  const natsStatus status = natsMsgHeader_Get(const_cast<natsMsg*>(&message), name, &value);
  return status == NATS_OK && value != nullptr ? value : std::string_view();
}

/// Whether a message of the server itself says that it does not send, or sends nothing more.
bool is_refusal(const natsMsg& message) {
  const std::string_view status = header_of(message, "Status");
  if (!status.empty()) return status != "100";
  const std::string_view text = bytes_of(message);
  return text.find("\"error\":") != std::string_view::npos;
}

/// The part after so many dots.
std::string_view part_of(std::string_view subject, int skipped) {
  for (int i = 0; i < skipped; ++i) {
    const std::size_t dot = subject.find('.');
    if (dot == std::string_view::npos) return {};
    subject.remove_prefix(dot + 1);
  }
  return subject.substr(0, subject.find('.'));
}

}  // namespace

bool NatsEndWatch::receive(NatsMailbox::Arrival& arrival) {
  if (answers_ == nullptr || arrival.subscription != answers_->number()) return false;
  const natsMsg& answer = *arrival.message;
  const std::string_view text = bytes_of(answer);
  end_ = end_in(text);
  return true;
}

void NatsEndWatch::ask(Time now) {
  due_ = now + kEndWait;
  former_end_ = std::exchange(end_, 0);
  const std::string inbox = connection_.inbox() + ".end";
  if (!connection_.is_connected()) return;
  if (answers_ == nullptr) answers_ = connection_.subscribe(inbox, now);
  if (answers_ == nullptr) return;
  // Where it is not sent, it is asked again.
  static_cast<void>(connection_.publish("$JS.API.STREAM.INFO." + stream_, inbox, ""));
}

NatsReader::NatsReader(NatsConnection& connection, NatsStream& stream)
    : connection_(connection), stream_(stream), end_watch_(connection, stream.name()) {}

/// The reply subject of a message for a consumer is
/// $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING; newer servers have
/// two parts more before STREAM, and may have one at the end.
std::optional<NatsReader::Delivery> NatsReader::delivery_of(const natsMsg& message) {
  const char* const reply = natsMsg_GetReply(&message);
  const std::string_view subject = reply == nullptr ? "" : reply;
  if (!subject.starts_with("$JS.ACK.")) return std::nullopt;
  const int place = std::count(subject.begin(), subject.end(), '.') == 8 ? 5 : 7;
  const auto sequence = parse_number<Sequence>(part_of(subject, place));
  const auto pending = parse_number<Sequence>(part_of(subject, place + 3));
  if (!sequence || !pending) return std::nullopt;
  return Delivery{.sequence = *sequence, .pending = *pending};
}

void NatsReader::seek(Sequence after, Time now) {
  problem_.reset();
  if (subscription_ != nullptr && after == seen_) return;
  gap_at_ = 0;
  begin({after + 1, after == 0, after + 1}, now);
}

void NatsReader::stop(Time now) {
  end_subscription(now);
  was_heard_ = true;
  missed_ = 0;
  is_slow_ = false;
  chunk_ = {};
  chunk_bytes_ = 0;
}

/// The server ends a consumer that nobody listens to.
void NatsReader::end_subscription(Time now) {
  if (subscription_ != nullptr) subscription_->end(now);
  subscription_ = nullptr;
  arrived_.clear();
}

void NatsReader::lose_connection(Time now) {
  retry_at_ = now;
  was_heard_ = true;
}

void NatsReader::begin(NatsEntryAssembler::Start start, Time now) {
  end_subscription(now);
  answer_wait_ =
      was_heard_ ? Duration(kFirstWait) : std::min<Duration>(2 * answer_wait_, kSilenceMax);
  was_heard_ = false;
  heard_at_ = now;
  look_at_ = now + kLookWait;
  retry_at_ = now + kRetryWait;
  seen_ = start.wanted_from - 1;
  server_last_ = 0;
  assembler_.begin(start);
  if (!connection_.is_connected()) return;
  const std::string inbox = connection_.inbox() + ".read" + std::to_string(++begun_);
  subscription_ = connection_.subscribe(inbox, now);
  if (subscription_ == nullptr) return;
  const natsStatus status =
      connection_.publish("$JS.API.CONSUMER.CREATE." + stream_.name(), inbox,
                          begin_request(stream_.name(), inbox, std::max<Sequence>(start.next, 1)));
  if (status == NATS_OK) retry_at_.reset();
}

bool NatsReader::receive(NatsMailbox::Arrival& arrival, Time now) {
  if (end_watch_.receive(arrival)) return true;
  if (subscription_ == nullptr || arrival.subscription != subscription_->number()) return false;
  heard_at_ = now;
  const auto delivery = delivery_of(*arrival.message);
  if (delivery) server_last_ = delivery->sequence + delivery->pending;
  was_heard_ = was_heard_ || delivery || !is_refusal(*arrival.message);
  arrived_.push_back({std::move(arrival.message), delivery});
  return true;
}

void NatsReader::proceed(std::size_t bytes_max, Time now) {
  while (!arrived_.empty() && !chunk_.is_trimmed && !retry_at_ &&
         (chunk_.entries.empty() || chunk_bytes_ < bytes_max)) {
    const Arrived next = std::move(arrived_.front());
    arrived_.pop_front();
    if (next.delivery) {
      add(*next.message, next.delivery->sequence, now);
    } else {
      note_control(*next.message, now);
    }
  }
  if (end_watch_.due() <= now && !has_result()) compare_with_leader(now);
  if (looks_at_stream() && look_at_ <= now && !has_result()) look_at_stream(bytes_max, now);
  const bool is_due = retry_at_ ? *retry_at_ <= now : arrived_.empty() && due() <= now;
  if (is_due && !has_result()) begin({seen_ + 1, seen_ == 0, seen_ + 1}, now);
}

/// The server that sends reads its own copy of the stream. After a restart under load that may be
/// far behind, and be filled no faster than the leader writes.
void NatsReader::compare_with_leader(Time now) {
  const Sequence has = std::max(seen_, server_last_);
  const Sequence end = end_watch_.former_end();
  const bool was_missed = was_heard_ && !retry_at_ && has < end;
  end_watch_.ask(now);
  if (!was_missed) return;
  begin({seen_ + 1, seen_ == 0, seen_ + 1}, now);
  missed_ = end;
  look_at_ = now;
}

/// What a consumer sends later of these messages is skipped. Each look waits for its answer.
void NatsReader::look_at_stream(std::size_t bytes_max, Time now) {
  look_at_ = now;
  const Time end = std::chrono::steady_clock::now() + kLooksTime;
  for (int looks = 0; looks < kLooksMax && chunk_bytes_ < bytes_max; ++looks) {
    if (looks > 0 && std::chrono::steady_clock::now() > end) return;
    const Sequence next = assembler_.next();
    const std::optional<NatsMessage> message = stream_.message(next);
    if (!message) {
      look_at_ = now + kLookWait;
      is_slow_ = next <= std::exchange(missed_, 0);
      return;
    }
    add(**message, next, now);
  }
}

void NatsReader::add(const natsMsg& message, Sequence sequence, Time now) {
  if (sequence < assembler_.next()) return;
  if (sequence > assembler_.next()) return find_gap(sequence, now);
  const std::string_view bytes = bytes_of(message);
  const NatsEntryAssembler::Verdict verdict =
      assembler_.add(parse_nats_entry_header(header_of(message, kNatsEntryHeader)), bytes);
  if (verdict.step == NatsEntryAssembler::Step::kLooksBack) {
    const Sequence wanted_from = std::max(assembler_.wanted_from(), seen_ + 1);
    return begin({verdict.from, verdict.from <= 1, wanted_from}, now);
  }
  seen_ = std::max(seen_, sequence);
  if (verdict.step == NatsEntryAssembler::Step::kMore) return;
  chunk_.entries.push_back(assembler_.take());
  chunk_bytes_ += chunk_.entries.back().bytes.size();
}

/// Messages are missing before this one.
void NatsReader::find_gap(Sequence sequence, Time now) {
  const Sequence missing = assembler_.next();
  const Outcome<journal::LogService::Extent> extent = stream_.extent();
  retry_at_ = now + kRetryWait;
  if (!extent) return;
  if (extent->begin > missing) {
    // What is looked at only for the sake of later messages may be gone.
    if (extent->begin <= assembler_.wanted_from()) {
      return begin({extent->begin, true, assembler_.wanted_from()}, now);
    }
    if (chunk_.entries.empty()) chunk_.is_trimmed = true;
    return;
  }
  // One that was lost on its way comes when the reader begins again.
  if (std::exchange(gap_at_, missing) != missing) return;
  problem_ =
      Problem{"the stream " + stream_.name() + " has a gap: messages " + std::to_string(missing) +
              " to " + std::to_string(sequence - 1) + " are missing"};
}

/// A message of the server itself: the answer to `begin_request`, a heartbeat, or a question
/// whether the reader has come so far.
void NatsReader::note_control(const natsMsg& message, Time now) {
  const std::string_view status = header_of(message, "Status");
  if (status == "100") {
    answer_control(message);
    const auto last = parse_number<Sequence>(header_of(message, "Nats-Last-Stream"));
    // A message before this heartbeat was lost on its way.
    if (last && *last >= assembler_.next()) retry_at_ = now;
    return;
  }
  if (is_refusal(message)) retry_at_ = now + std::max<Duration>(kRetryWait, answer_wait_);
}

void NatsReader::answer_control(const natsMsg& message) {
  const char* const reply = natsMsg_GetReply(&message);
  const std::string stalled(header_of(message, "Nats-Consumer-Stalled"));
  const std::string to = reply != nullptr ? reply : stalled;
  if (!to.empty()) static_cast<void>(connection_.publish(to, "", ""));
}

bool NatsReader::has_result() const {
  return !chunk_.entries.empty() || chunk_.is_trimmed || problem_.has_value();
}

Outcome<journal::LogService::Chunk> NatsReader::take() {
  if (problem_ && chunk_.entries.empty()) return *std::exchange(problem_, std::nullopt);
  Chunk taken = std::exchange(chunk_, {});
  chunk_bytes_ = 0;
  taken.seen = seen_;
  return taken;
}

NatsReader::Time NatsReader::due() const {
  const Time next =
      retry_at_.value_or(heard_at_ + (was_heard_ ? Duration(kSilenceMax) : answer_wait_));
  return std::min({next, end_watch_.due(), looks_at_stream() ? look_at_ : next});
}

}  // namespace millrace::engines
