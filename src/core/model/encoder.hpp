#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/varint.hpp"
#include "core/model/fields.hpp"

/// How records become bytes. Numbers are varints, signed ones and times zigzag first, texts their
/// length and their bytes.
namespace millrace {

// Inlined wherever they are used, which g++ would not do by itself: there are many places, and
// every record passes some.
#define MILLRACE_INLINE [[gnu::always_inline]] inline

/// What the log keeps of a part of a job's history; null when it keeps nothing of it. Most jobs
/// have no history, and spend no byte on it.
inline const Tallies* stored(const Tallies& tallies) {
  return tallies == Tallies{} ? nullptr : &tallies;
}
inline const Failure* stored(const Box<Failure>& failure) {
  return failure.get();
}
/// Reservations of connections end with the process.
inline const Reservation* stored(const Box<Reservation>& held) {
  return held && held->is_held_by_worker() ? held.get() : nullptr;
}
inline const Time* stored(const Time& lock_ends) {
  return lock_ends == Time{} ? nullptr : &lock_ends;
}

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

  template <typename Value>
  MILLRACE_INLINE void word(const Value& value) {
    make_room(sizeof value);
    static_assert(std::is_trivially_copyable_v<Value>);
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes_.data() + size_, &value, sizeof value);
    size_ += sizeof value;
  }

  /// Names are short, and collected too.
  void bytes(std::string_view text) {
    if (text.size() > kShortBytes) {
      flush();
      out_.append(text);
      return;
    }
    make_room(text.size());
    size_ += text.copy(bytes_.data() + size_, text.size());
  }

 private:
  static constexpr std::size_t kShortBytes = 48;

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

/// Appends all but one text.
class PartialSink {
 public:
  PartialSink(std::string& out, std::string_view left_out) : all_(out), left_out_(left_out) {}

  void byte(std::uint8_t value) { all_.byte(value); }
  void number(std::uint64_t value) { all_.number(value); }
  template <typename Value>
  void word(const Value& value) {
    all_.word(value);
  }
  void bytes(std::string_view text) {
    if (text.data() != left_out_.data()) all_.bytes(text);
  }

 private:
  StringSink all_;
  const std::string_view left_out_;
};

/// Counts the bytes.
class CountingSink {
 public:
  void byte(std::uint8_t) { ++count_; }
  void number(std::uint64_t value) { count_ += varint_bytes(value); }
  template <typename Value>
  void word(const Value& value) {
    count_ += sizeof value;
  }
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
  MILLRACE_INLINE void operator()(fields::Byte<Value> byte) {
    sink_.byte(static_cast<std::uint8_t>(byte.value));
  }
  template <typename Value>
  MILLRACE_INLINE void operator()(fields::Word<Value> word) {
    sink_.word(word.value);
  }
  void operator()(fields::NotStored) {}

  MILLRACE_INLINE void operator()(fields::StateByte<const JobFields> state) {
    const JobFields& job = state.job;
    const JobHistory* const history = job.history.get();
    auto bits = static_cast<std::uint8_t>(job.state);
    // Reservations of connections end with the process. A restart finds the job ready
    // (docs/internals/decisions/replies-and-durability.md).
    if (job.is_held_by_connection()) bits = static_cast<std::uint8_t>(JobState::kReady);
    if (job.marks != 0) bits |= fields::kMarksBit;
    if (history == nullptr) return sink_.byte(bits);
    fields::each_part(*history, [&bits](std::uint8_t bit, const auto& part) {
      if (stored(part) != nullptr) bits |= bit;
    });
    sink_.byte(bits);
  }
  MILLRACE_INLINE void operator()(fields::When<const JobFields> when) {
    (*this)(when.job.is_held_by_connection() ? Time{} : when.job.when);
  }
  MILLRACE_INLINE void operator()(fields::HistoryParts<const JobFields> parts) {
    const JobHistory* const history = parts.job.history.get();
    if (history == nullptr) return;
    fields::each_part(*history, [this](std::uint8_t, const auto& part) {
      if (const auto* const value = stored(part)) this->put(*value);
    });
  }
  MILLRACE_INLINE void operator()(fields::Marks<const JobFields> marks) {
    if (marks.job.marks != 0) sink_.byte(marks.job.marks);
  }
  template <typename Value>
  MILLRACE_INLINE void operator()(fields::AttemptsPart<StoredJob, Value> part) {
    if (!part.job.has_mark(job_marks::kHasAttempts)) return;
    CHECK(part.attempts);
    put(*part.attempts);
  }
  void operator()(const Attempt& attempt) { put(attempt); }
  template <typename Part>
  void operator()(const Box<Part>& part) {
    CHECK(part);
    put(*part);
  }
  MILLRACE_INLINE void operator()(fields::KindByte<const StoredJob> kind) {
    sink_.byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind.job.kind) |
                                         (kind.job.features ? fields::kFeaturesBit : 0)));
  }
  MILLRACE_INLINE void operator()(fields::Features<const StoredJob> features) {
    if (features.job.features) put(*features.job.features);
  }
  void operator()(fields::FeatureBits<const JobFeatures> bits) {
    feature_bits_ = fields::packed(bits.features);
    sink_.word(feature_bits_);
  }
  template <typename Value>
  void operator()(fields::FeaturePart<const JobFeatures, Value> part) {
    if ((feature_bits_ & part.bit) != 0) (*this)(part.value);
  }
  template <typename Value>
  void operator()(fields::BoxedText<Value> text) {
    (*this)(fields::Text{*text.value, text.bytes_max});
  }
  template <typename Value, typename Part, typename Other>
  MILLRACE_INLINE void operator()(fields::ByteAndBit<Value, Part, Other> field) {
    const int bits =
        (field.part ? fields::kAnnouncedBit : 0) | (field.other ? fields::kOtherBit : 0);
    sink_.byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(field.value) | bits));
  }
  template <typename Part>
  MILLRACE_INLINE void operator()(fields::Announced<Part> announced) {
    if (!announced.part) return;
    if constexpr (std::integral<Part>) {
      (*this)(announced.part);
    } else {
      put(*announced.part);
    }
  }
  MILLRACE_INLINE void operator()(const KeyedHash& hash) { put(hash); }
  void operator()(const LockSecret& secret) { put(secret); }
  void operator()(const ErrorMark& mark) { put(mark); }
  MILLRACE_INLINE void operator()(const JobFields& job) { put(job); }
  void operator()(const ThrottleLimits& limits) { put(limits); }
  void operator()(const JobBatchFields& batch) { put(batch); }

  template <RecordKind Kind>
  void record(const Kind& record) {
    sink_.byte(Kind::kTag);
    put(record);
  }

  void job_before_body(const Job& job, std::string_view queue, const Attempts* attempts) {
    sink_.byte(JobAdded::kTag);
    const StoredJob& fields = job;
    fields::each_field_before_body(job.id, queue, fields, *this);
    (*this)(fields::AttemptsPart{fields, attempts});
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
  std::uint32_t feature_bits_ = 0;  ///< of the job at hand
};

#undef MILLRACE_INLINE

}  // namespace millrace
