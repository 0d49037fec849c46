#include "core/model/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/varint.hpp"
#include "core/model/fields.hpp"

// Numbers are varints, signed ones and times zigzag first, texts their length and their bytes.
namespace millrace {
namespace {

/// What the log keeps of a part of a job's history; null when it keeps nothing of it. Most jobs
/// have no history, and spend no byte on it.
const Tallies* stored(const Tallies& tallies) {
  return tallies == Tallies{} ? nullptr : &tallies;
}
const Failure* stored(const Box<Failure>& failure) {
  return failure.get();
}
/// Reservations of connections end with the process.
const Reservation* stored(const Box<Reservation>& held) {
  return held && held->is_held_by_worker() ? held.get() : nullptr;
}

const Time* stored(const Time& lock_ends) {
  return lock_ends == Time{} ? nullptr : &lock_ends;
}

/// Where the decoder puts such a part.
Tallies& filled(Tallies& tallies) {
  return tallies;
}
Time& filled(Time& lock_ends) {
  return lock_ends;
}
template <typename Part>
Part& filled(Box<Part>& part) {
  return part.emplace();
}

template <std::size_t... Places>
constexpr bool have_tags_of_their_own(std::index_sequence<Places...>) {
  std::array tags{std::variant_alternative_t<Places, Record>::kTag...};
  std::ranges::sort(tags);
  return std::ranges::adjacent_find(tags) == tags.end();
}
static_assert(have_tags_of_their_own(std::make_index_sequence<std::variant_size_v<Record>>{}));

// ---- writing and counting -----------------------------------------------------------------------

// Inlined wherever they are used, which g++ would not do by itself: there are many places, and
// every record passes some.
#define MILLRACE_INLINE [[gnu::always_inline]] inline

/// Appends to a string. Short values are collected on the stack and appended in one go: a call of
/// `append` for each byte would cost more than the byte.
class StringSink {
 public:
  explicit StringSink(std::string& out) : out_(out) {}
  ~StringSink() { flush(); }
  StringSink(const StringSink&) = delete;
  StringSink& operator=(const StringSink&) = delete;

  MILLRACE_INLINE void byte(std::uint8_t value) {
    make_room(1);
    bytes_[size_++] = static_cast<char>(value);
  }

  MILLRACE_INLINE void number(std::uint64_t value) {
    make_room(kVarintBytesMax);
    size_ = static_cast<std::size_t>(write_varint(value, bytes_.data() + size_) - bytes_.data());
  }

  void bytes(std::string_view text) {
    flush();
    out_.append(text);
  }

 private:
  MILLRACE_INLINE void make_room(std::size_t bytes) {
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

/// Counts the bytes.
class CountingSink {
 public:
  void byte(std::uint8_t) { ++count_; }
  void number(std::uint64_t value) { count_ += varint_bytes(value); }
  void bytes(std::string_view text) { count_ += text.size(); }

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

/// Visits fields and hands their bytes to the sink.
template <typename Sink>
class Encoder {
 public:
  explicit Encoder(Sink& sink) : sink_(sink) {}

  MILLRACE_INLINE void operator()(std::uint64_t value) { sink_.number(value); }
  MILLRACE_INLINE void operator()(std::uint32_t value) { sink_.number(value); }
  MILLRACE_INLINE void operator()(std::int64_t value) { sink_.number(zigzag(value)); }
  MILLRACE_INLINE void operator()(std::int32_t value) { (*this)(std::int64_t{value}); }
  MILLRACE_INLINE void operator()(bool value) { sink_.byte(value ? 1 : 0); }
  MILLRACE_INLINE void operator()(Time time) {
    (*this)(std::int64_t{time.time_since_epoch().count()});
  }

  template <typename String>
  MILLRACE_INLINE void operator()(fields::Text<String> text) {
    sink_.number(text.value.size());
    sink_.bytes(text.value);
  }
  template <typename Vector>
  void operator()(fields::List<Vector> list) {
    sink_.number(list.elements.size());
    for (const auto& element : list.elements) put(element);
  }
  template <typename Field>
  MILLRACE_INLINE void operator()(fields::Between<Field> between) {
    (*this)(between.field);
  }
  template <typename Value>
  void operator()(fields::Byte<Value> byte) {
    sink_.byte(static_cast<std::uint8_t>(byte.value));
  }
  void operator()(fields::NotStored) {}

  void operator()(fields::StateByte<const JobFields> state) {
    const JobFields& job = state.job;
    const JobHistory* const history = job.history.get();
    auto bits = static_cast<std::uint8_t>(job.state);
    // Reservations of connections end with the process. A restart finds the job ready (decision 2).
    if (job.is_held_by_connection()) bits = static_cast<std::uint8_t>(JobState::kReady);
    if (job.marks != 0) bits |= fields::kMarksBit;
    if (history == nullptr) return sink_.byte(bits);
    fields::each_part(*history, [&bits](std::uint8_t bit, const auto& part) {
      if (stored(part) != nullptr) bits |= bit;
    });
    sink_.byte(bits);
  }
  void operator()(fields::When<const JobFields> when) {
    (*this)(when.job.is_held_by_connection() ? Time{} : when.job.when);
  }
  void operator()(fields::HistoryParts<const JobFields> parts) {
    const JobHistory* const history = parts.job.history.get();
    if (history == nullptr) return;
    fields::each_part(*history, [this](std::uint8_t, const auto& part) {
      if (const auto* const value = stored(part)) this->put(*value);
    });
  }
  MILLRACE_INLINE void operator()(fields::Marks<const JobFields> marks) {
    if (marks.job.marks != 0) sink_.byte(marks.job.marks);
  }
  MILLRACE_INLINE void operator()(fields::KindByte<const StoredJob> kind) {
    sink_.byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind.job.kind) |
                                         (kind.job.features ? fields::kFeaturesBit : 0)));
  }
  MILLRACE_INLINE void operator()(fields::Features<const StoredJob> features) {
    if (features.job.features) put(*features.job.features);
  }
  void operator()(fields::FeatureBits<const JobFeatures> bits) {
    sink_.number(fields::packed(bits.features));
  }
  void operator()(const LockKey& key) { put(key); }
  void operator()(float value) { sink_.number(std::bit_cast<std::uint32_t>(value)); }
  MILLRACE_INLINE void operator()(const JobFields& job) { put(job); }
  void operator()(const ThrottleLimits& limits) { put(limits); }
  void operator()(const JobBatchFields& batch) { put(batch); }

  void record(const Record& record) {
    const auto write = [this]<typename Kind>(const Kind& value) {
      if constexpr (std::is_same_v<Kind, JobChanged>) {
        // Such a change is applied and not written: the ledger sees to it.
        CHECK(!value.fields.is_held_by_connection());
      }
      sink_.byte(Kind::kTag);
      put(value);
    };
    visit_record(record, write);
  }

  void job_before_body(const Job& job, std::string_view queue) {
    sink_.byte(JobAdded::kTag);
    fields::each_field_before_body(job.id, queue, static_cast<const StoredJob&>(job), *this);
    sink_.number(job.body_bytes);
  }

 private:
  template <typename T>
  void put(const T& value) {
    fields::each_field(value, *this);
  }
  void put(const Time& time) { (*this)(time); }
  void put(const std::string& text) { (*this)(fields::Text{text, text.size()}); }

  Sink& sink_;
};

// ---- reading ------------------------------------------------------------------------------------

/// Visits fields and takes their values off the front. The first that does not fit makes all
/// further ones zero, so that a record is read to its end and judged once.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] std::string_view rest() const { return bytes_; }

  std::uint8_t byte() {
    if (!is_good_ || bytes_.empty()) {
      fail();
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  void operator()(std::uint64_t& value) { value = number(); }
  void operator()(std::uint32_t& value) {
    const std::uint64_t wide = number();
    if (wide > std::numeric_limits<std::uint32_t>::max()) fail();
    value = is_good_ ? static_cast<std::uint32_t>(wide) : 0;
  }
  void operator()(std::int64_t& value) { value = signed_number(); }
  void operator()(std::int32_t& value) { value = static_cast<std::int32_t>(signed_number()); }
  void operator()(bool& value) { value = byte() != 0; }
  void operator()(fields::KindByte<StoredJob> kind) {
    const std::uint8_t bits = byte();
    has_features_ = (bits & fields::kFeaturesBit) != 0;
    const auto value = static_cast<std::uint8_t>(bits & ~fields::kFeaturesBit);
    if (value > static_cast<std::uint8_t>(JobKind::kWorkUnit)) fail();
    kind.job.kind = static_cast<JobKind>(value);
  }
  void operator()(fields::Features<StoredJob> features) {
    if (std::exchange(has_features_, false)) take(features.job.features.emplace());
  }
  void operator()(fields::FeatureBits<JobFeatures> bits) {
    std::uint32_t packed = 0;
    (*this)(packed);
    fields::unpack(packed, bits.features);
  }
  void operator()(LockKey& key) { take(key); }
  void operator()(float& value) {
    std::uint32_t bits = 0;
    (*this)(bits);
    value = std::bit_cast<float>(bits);
  }
  void operator()(Time& time) { time = Time{Duration{signed_number()}}; }

  template <typename String>
  void operator()(fields::Text<String> text) {
    text.value = this->text(text.bytes_max);
  }
  template <typename Vector>
  void operator()(fields::List<Vector> list) {
    const std::uint64_t count = number();
    // Before the loop: a damaged count must not make us allocate.
    if (count > list.count_max) fail();
    for (std::uint64_t i = 0; i < count && is_good_; ++i) take(list.elements.emplace_back());
  }
  template <typename Field>
  void operator()(fields::Between<Field> between) {
    (*this)(between.field);
  }
  template <typename Value>
  void operator()(fields::Byte<Value> byte) {
    const std::uint8_t value = this->byte();
    if (value > static_cast<std::uint8_t>(byte.max)) fail();
    byte.value = is_good_ ? static_cast<Value>(value) : Value{};
  }
  void operator()(fields::NotStored) {}

  void operator()(fields::StateByte<JobFields> state) {
    flags_ = byte();
    const std::uint8_t number = flags_ & fields::kStateBits;
    if (number >= kJobStateCount) fail();
    state.job.state = static_cast<JobState>(number);
    const bool is_reserved = state.job.state == JobState::kReserved;
    if (is_reserved != ((flags_ & fields::kReservationBit) != 0)) fail();
  }
  void operator()(fields::When<JobFields> when) { (*this)(when.job.when); }
  void operator()(fields::HistoryParts<JobFields> parts) {
    if ((flags_ & ~(fields::kStateBits | fields::kMarksBit)) == 0) return;
    JobHistory& history = parts.job.edit_history();
    fields::each_part(history, [this](std::uint8_t bit, auto& part) {
      if (flags_ & bit) take(filled(part));
    });
    // Tallies that are all zero are legal bytes, and mean no more than none.
    if (history.is_empty()) parts.job.history.reset();
  }
  void operator()(fields::Marks<JobFields> marks) {
    if ((flags_ & fields::kMarksBit) == 0) return;
    marks.job.marks = byte();
    // Unknown ones would be lost with the next change.
    if ((marks.job.marks & ~job_marks::kAll) != 0) fail();
  }
  void operator()(JobFields& job) { take(job); }
  void operator()(ThrottleLimits& limits) { take(limits); }
  void operator()(JobBatchFields& batch) { take(batch); }

  template <typename T>
  void take(T& value) {
    fields::each_field(value, *this);
  }
  void take(Time& time) { (*this)(time); }
  void take(std::string& text) { (*this)(fields::Text{text, kBodyBytesMax}); }

  /// The record of that tag; nullopt when no kind has it.
  template <std::size_t Place = 0>
  std::optional<Record> record(std::uint8_t tag) {
    if constexpr (Place < std::variant_size_v<Record>) {
      using Kind = std::variant_alternative_t<Place, Record>;
      if (tag != Kind::kTag) return record<Place + 1>(tag);
      Kind value;
      take(value);
      if constexpr (std::is_same_v<Kind, JobAdded>) {
        // Ids begin at 1, and 0 is not in the index.
        if (value.id == 0) fail();
      }
      return value;
    } else {
      return std::nullopt;
    }
  }

 private:
  void fail() { is_good_ = false; }

  std::uint64_t number() {
    if (!is_good_) return 0;
    const std::optional<std::uint64_t> value = take_varint(bytes_);
    if (!value) fail();
    return value.value_or(0);
  }

  std::int64_t signed_number() { return unzigzag(number()); }

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

  std::string_view bytes_;
  bool is_good_ = true;
  std::uint8_t flags_ = 0;     ///< of the job at hand
  bool has_features_ = false;  ///< it as well
};

}  // namespace

void encode(const Record& record, std::string& out) {
  StringSink sink(out);
  Encoder(sink).record(record);
}

void encode(const Job& job, std::string_view queue, std::string& out) {
  StringSink sink(out);
  Encoder(sink).job_before_body(job, queue);
  sink.bytes(job.body_view());
}

std::uint64_t encoded_bytes(const Record& record) {
  CountingSink sink;
  Encoder(sink).record(record);
  return sink.count();
}

std::uint64_t encoded_bytes(const Job& job, std::string_view queue) {
  CountingSink sink;
  Encoder(sink).job_before_body(job, queue);
  return sink.count() + job.body_bytes;
}

Outcome<Record> decode(std::string_view& bytes) {
  Decoder decoder(bytes);
  std::optional<Record> record = decoder.record(decoder.byte());
  if (!record) return Problem{"a record of an unknown kind"};
  if (!decoder.is_good()) return Problem{"a record that ends too early or is out of its limits"};
  // Only when all is good, so that a caller can name the record that is not.
  bytes = decoder.rest();
  return std::move(*record);
}

}  // namespace millrace
