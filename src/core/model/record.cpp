#include "core/model/record.hpp"

#include <array>
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

/// Collects what is short, and appends it in one go.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  ~Writer() { flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void byte(std::uint8_t value) {
    make_room(1);
    bytes_[size_++] = static_cast<char>(value);
  }
  void tag(Tag tag) { byte(static_cast<std::uint8_t>(tag)); }

  void number(std::uint64_t value) {
    make_room(kNumberBytesMax);
    while (value >= 0x80) {
      bytes_[size_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes_[size_++] = static_cast<char>(value);
  }

  void signed_number(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }

  void time(Time time) { signed_number(time.time_since_epoch().count()); }

  void text(std::string_view text) {
    number(text.size());
    flush();
    out_.append(text);
  }

 private:
  static constexpr std::size_t kNumberBytesMax = 10;

  void make_room(std::size_t bytes) {
    if (bytes_.size() - size_ < bytes) flush();
  }
  void flush() {
    out_.append(bytes_.data(), size_);
    size_ = 0;
  }

  std::string& out_;
  std::array<char, 128> bytes_;
  std::size_t size_ = 0;
};

void put_failure(const Failure& failure, Writer& out) {
  out.signed_number(failure.retry_count);
  out.signed_number(failure.remaining);
  out.time(failure.failed_at);
  out.time(failure.next_at);
  out.text(failure.errtype);
  out.text(failure.message);
  out.number(failure.backtrace.size());
  for (const std::string& line : failure.backtrace) out.text(line);
}

void put_reservation(const Reservation& reservation, Writer& out) {
  CHECK(reservation.is_held_by_worker());
  out.text(reservation.wid);
  out.text(reservation.jid);
  out.time(reservation.reserved_at);
}

void put_tallies(const Tallies& tallies, Writer& out) {
  out.number(tallies.reserves);
  out.number(tallies.timeouts);
  out.number(tallies.releases);
  out.number(tallies.buries);
  out.number(tallies.kicks);
}

void put_fields(const JobFields& fields, Writer& out) {
  auto flags = static_cast<std::uint8_t>(fields.state);
  if (fields.tallies != Tallies{}) flags |= kHasTallies;
  if (fields.failure) flags |= kHasFailure;
  if (fields.reservation) flags |= kHasReservation;
  out.byte(flags);
  out.number(fields.pri);
  out.number(fields.sequence);
  out.time(fields.when);
  out.time(fields.enqueued_at);
  out.number(fields.delay_s);
  if (flags & kHasTallies) put_tallies(fields.tallies, out);
  if (fields.failure) put_failure(*fields.failure, out);
  if (fields.reservation) put_reservation(*fields.reservation, out);
}

void put(const JobAdded& record, Writer& out) {
  out.tag(Tag::kAdded);
  out.number(record.id);
  out.byte(static_cast<std::uint8_t>(record.kind));
  out.text(record.queue);
  out.time(record.created_at);
  out.number(record.ttr_s);
  put_fields(record.fields, out);
  out.text(record.body);
}

void put(const JobChanged& record, Writer& out) {
  out.tag(Tag::kChanged);
  out.number(record.id);
  put_fields(record.fields, out);
}

void put(const JobRemoved& record, Writer& out) {
  out.tag(Tag::kRemoved);
  out.number(record.id);
}

void put(const QueueChanged& record, Writer& out) {
  out.tag(Tag::kQueue);
  out.text(record.name);
  out.byte(record.is_kept ? 1 : 0);
  out.time(record.paused_until);
  out.number(record.pause_s);
}

void put(const CountersChanged& record, Writer& out) {
  out.tag(Tag::kCounters);
  out.number(record.next_id);
  out.number(record.processed);
  out.number(record.failed);
  out.signed_number(record.day);
  out.number(record.processed_today);
  out.number(record.failed_today);
}

void put(const HistoryChanged& record, Writer& out) {
  out.tag(Tag::kHistory);
  out.number(record.days.size());
  for (const DayCounts& day : record.days) {
    out.signed_number(day.day);
    out.number(day.processed);
    out.number(day.failed);
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
  if (lines > kBacktraceLinesMax) reader.fail();
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
  Writer writer(out);
  std::visit([&writer](const auto& value) { put(value, writer); }, record);
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
