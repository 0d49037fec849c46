#include "core/record.hpp"

#include <bit>
#include <limits>

// The grammar is in docs/journal-format.md. Numbers are LEB128, signed ones and times zigzag first,
// texts their length and their bytes.
namespace millrace {
namespace {

enum class Tag : std::uint8_t { kAdded = 1, kChanged, kRemoved, kQueue, kCounters, kHistory };

constexpr std::uint8_t kStateBits = 0x07;
constexpr std::uint8_t kHasTallies = 0x08;
constexpr std::uint8_t kHasFailure = 0x10;
constexpr std::uint8_t kHasReservation = 0x20;
constexpr std::uint8_t kKnownFlags = kStateBits | kHasTallies | kHasFailure | kHasReservation;

// ---- writing ------------------------------------------------------------------------------------

void put_number(std::uint64_t value, std::string& out) {
  char bytes[10];
  std::size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = static_cast<char>(value);
  out.append(bytes, size);
}

void put_signed(std::int64_t value, std::string& out) {
  const auto bits = static_cast<std::uint64_t>(value);
  put_number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0), out);
}

void put_time(Time time, std::string& out) {
  put_signed(time.time_since_epoch().count(), out);
}

void put_text(std::string_view text, std::string& out) {
  put_number(text.size(), out);
  out.append(text);
}

void put_tag(Tag tag, std::string& out) {
  out.push_back(static_cast<char>(tag));
}

void put_failure(const Failure& failure, std::string& out) {
  put_signed(failure.retry_count, out);
  put_signed(failure.remaining, out);
  put_time(failure.failed_at, out);
  put_time(failure.next_at, out);
  put_text(failure.errtype, out);
  put_text(failure.message, out);
  put_number(failure.backtrace.size(), out);
  for (const std::string& line : failure.backtrace) put_text(line, out);
}

void put_reservation(const Reservation& reservation, std::string& out) {
  CHECK(reservation.is_held_by_worker());
  put_text(reservation.wid, out);
  put_text(reservation.jid, out);
  put_time(reservation.reserved_at, out);
}

void put_tallies(const Tallies& tallies, std::string& out) {
  put_number(tallies.reserves, out);
  put_number(tallies.timeouts, out);
  put_number(tallies.releases, out);
  put_number(tallies.buries, out);
  put_number(tallies.kicks, out);
}

void put_fields(const JobFields& fields, std::string& out) {
  auto flags = static_cast<std::uint8_t>(fields.state);
  if (fields.tallies != Tallies{}) flags |= kHasTallies;
  if (fields.failure) flags |= kHasFailure;
  if (fields.reservation) flags |= kHasReservation;
  out.push_back(static_cast<char>(flags));
  put_number(fields.pri, out);
  put_number(fields.sequence, out);
  put_time(fields.when, out);
  put_time(fields.enqueued_at, out);
  put_number(fields.delay_s, out);
  if (flags & kHasTallies) put_tallies(fields.tallies, out);
  if (fields.failure) put_failure(*fields.failure, out);
  if (fields.reservation) put_reservation(*fields.reservation, out);
}

void put(const JobAdded& record, std::string& out) {
  put_tag(Tag::kAdded, out);
  put_number(record.id, out);
  out.push_back(static_cast<char>(record.kind));
  put_text(record.queue, out);
  put_time(record.created_at, out);
  put_number(record.ttr_s, out);
  put_fields(record.fields, out);
  put_text(record.body, out);
}

void put(const JobChanged& record, std::string& out) {
  put_tag(Tag::kChanged, out);
  put_number(record.id, out);
  put_fields(record.fields, out);
}

void put(const JobRemoved& record, std::string& out) {
  put_tag(Tag::kRemoved, out);
  put_number(record.id, out);
}

void put(const QueueChanged& record, std::string& out) {
  put_tag(Tag::kQueue, out);
  put_text(record.name, out);
  out.push_back(record.is_kept ? 1 : 0);
  put_time(record.paused_until, out);
  put_number(record.pause_s, out);
}

void put(const CountersChanged& record, std::string& out) {
  put_tag(Tag::kCounters, out);
  put_number(record.next_id, out);
  put_number(record.processed, out);
  put_number(record.failed, out);
  put_signed(record.day, out);
  put_number(record.processed_today, out);
  put_number(record.failed_today, out);
}

void put(const HistoryChanged& record, std::string& out) {
  put_tag(Tag::kHistory, out);
  put_number(record.days.size(), out);
  for (const DayCounts& day : record.days) {
    put_signed(day.day, out);
    put_number(day.processed, out);
    put_number(day.failed, out);
  }
}

// ---- reading ------------------------------------------------------------------------------------

/// Takes values off the front. The first that does not fit makes all further ones zero, so that a
/// record is read to its end and judged once.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] std::string_view rest() const { return bytes_; }
  void fail() { is_good_ = false; }

  std::uint8_t byte() {
    if (!is_good_ || bytes_.empty()) {
      fail();
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = byte();
      if (shift == 63 && part > 1) fail();
      value |= (part & 0x7f) << shift;
      if (part < 0x80) return is_good_ ? value : 0;
    }
    fail();
    return 0;
  }

  std::uint32_t small_number() {
    const std::uint64_t value = number();
    if (value > std::numeric_limits<std::uint32_t>::max()) fail();
    return is_good_ ? static_cast<std::uint32_t>(value) : 0;
  }

  std::int64_t signed_number() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }

  Time time() { return Time{Duration{signed_number()}}; }

  std::string_view text(std::size_t bytes_max) {
    const std::uint64_t size = number();
    if (!is_good_ || size > bytes_max || size > bytes_.size()) {
      fail();
      return {};
    }
    const std::string_view value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return value;
  }

 private:
  std::string_view bytes_;
  bool is_good_ = true;
};

Failure read_failure(Reader& reader) {
  Failure failure;
  failure.retry_count = reader.signed_number();
  failure.remaining = reader.signed_number();
  failure.failed_at = reader.time();
  failure.next_at = reader.time();
  failure.errtype = reader.text(kBodyBytesMax);
  failure.message = reader.text(kBodyBytesMax);
  const std::uint64_t lines = reader.number();
  for (std::uint64_t i = 0; i < lines && reader.is_good(); ++i) {
    failure.backtrace.emplace_back(reader.text(kBodyBytesMax));
  }
  return failure;
}

Reservation read_reservation(Reader& reader) {
  Reservation reservation;
  reservation.wid = reader.text(kWidBytesMax);
  reservation.jid = reader.text(kJidBytesMax);
  reservation.reserved_at = reader.time();
  return reservation;
}

Tallies read_tallies(Reader& reader) {
  Tallies tallies;
  tallies.reserves = reader.small_number();
  tallies.timeouts = reader.small_number();
  tallies.releases = reader.small_number();
  tallies.buries = reader.small_number();
  tallies.kicks = reader.small_number();
  return tallies;
}

JobFields read_fields(Reader& reader) {
  JobFields fields;
  const std::uint8_t flags = reader.byte();
  const std::uint8_t state = flags & kStateBits;
  if (flags & ~kKnownFlags || state >= kJobStateCount) reader.fail();
  fields.state = static_cast<JobState>(state);
  fields.pri = reader.small_number();
  fields.sequence = reader.number();
  fields.when = reader.time();
  fields.enqueued_at = reader.time();
  fields.delay_s = reader.small_number();
  if (flags & kHasTallies) fields.tallies = read_tallies(reader);
  if (flags & kHasFailure) fields.failure = read_failure(reader);
  if (flags & kHasReservation) fields.reservation = read_reservation(reader);
  if (fields.reservation.has_value() != (fields.state == JobState::kReserved)) reader.fail();
  return fields;
}

JobAdded read_added(Reader& reader) {
  JobAdded record;
  record.id = reader.number();
  const std::uint8_t kind = reader.byte();
  if (kind > static_cast<std::uint8_t>(JobKind::kWorkUnit) || record.id == 0) reader.fail();
  record.kind = static_cast<JobKind>(kind);
  record.queue = reader.text(kQueueNameBytesMax);
  record.created_at = reader.time();
  record.ttr_s = reader.small_number();
  record.fields = read_fields(reader);
  record.body = reader.text(kBodyBytesMax);
  return record;
}

JobChanged read_changed(Reader& reader) {
  JobChanged record;
  record.id = reader.number();
  record.fields = read_fields(reader);
  return record;
}

QueueChanged read_queue(Reader& reader) {
  QueueChanged record;
  record.name = reader.text(kQueueNameBytesMax);
  record.is_kept = reader.byte() != 0;
  record.paused_until = reader.time();
  record.pause_s = reader.small_number();
  return record;
}

CountersChanged read_counters(Reader& reader) {
  CountersChanged record;
  record.next_id = reader.number();
  record.processed = reader.number();
  record.failed = reader.number();
  record.day = static_cast<std::int32_t>(reader.signed_number());
  record.processed_today = reader.number();
  record.failed_today = reader.number();
  return record;
}

HistoryChanged read_history(Reader& reader) {
  HistoryChanged record;
  const std::uint64_t days = reader.number();
  if (days > kHistoryDaysMax) reader.fail();
  for (std::uint64_t i = 0; i < days && reader.is_good(); ++i) {
    DayCounts day;
    day.day = static_cast<std::int32_t>(reader.signed_number());
    day.processed = reader.number();
    day.failed = reader.number();
    record.days.push_back(day);
  }
  return record;
}

std::optional<Record> read_record(Reader& reader) {
  switch (static_cast<Tag>(reader.byte())) {
    case Tag::kAdded:
      return read_added(reader);
    case Tag::kChanged:
      return read_changed(reader);
    case Tag::kRemoved:
      return JobRemoved{.id = reader.number()};
    case Tag::kQueue:
      return read_queue(reader);
    case Tag::kCounters:
      return read_counters(reader);
    case Tag::kHistory:
      return read_history(reader);
  }
  return std::nullopt;
}

}  // namespace

void encode(const Record& record, std::string& out) {
  std::visit([&out](const auto& value) { put(value, out); }, record);
}

Outcome<Record> decode(std::string_view& bytes) {
  Reader reader(bytes);
  std::optional<Record> record = read_record(reader);
  if (!record) return Problem{"a record of an unknown kind"};
  if (!reader.is_good()) return Problem{"a record that ends too early or is out of its limits"};
  bytes = reader.rest();
  return std::move(*record);
}

}  // namespace millrace
