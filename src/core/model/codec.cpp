#include "core/model/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/varint.hpp"
#include "core/model/fields.hpp"

namespace millrace {
namespace {

template <std::size_t... Places>
constexpr bool have_tags_of_their_own(std::index_sequence<Places...>) {
  std::array tags{std::variant_alternative_t<Places, Record>::kTag...};
  std::ranges::sort(tags);
  return std::ranges::adjacent_find(tags) == tags.end();
}
static_assert(have_tags_of_their_own(std::make_index_sequence<std::variant_size_v<Record>>{}));

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
    if (!std::exchange(has_features_, false)) return;
    JobFeatures& read = features.job.features.emplace();
    take(read);
    // Parts that say nothing, and bits that are unknown, would be lost with the next change.
    if (fields::packed(read) != feature_bits_ || !std::isfinite(read.lock_seconds)) fail();
  }
  void operator()(fields::FeatureBits<JobFeatures> bits) {
    (*this)(fields::Word{feature_bits_});
    fields::unpack(feature_bits_, bits.features);
  }
  template <typename Value>
  void operator()(fields::FeaturePart<JobFeatures, Value> part) {
    if ((feature_bits_ & part.bit) != 0) (*this)(part.value);
  }
  void operator()(fields::BoxedText<Box<std::string>> text) {
    text.value.emplace() = this->text(text.bytes_max);
  }
  template <typename Value, typename Part, typename Other>
  void operator()(fields::ByteAndBit<Value, Part, Other> field) {
    flags_ = byte();
    constexpr bool kHasOther = !std::is_same_v<Other, fields::NoPart>;
    constexpr int kBits = fields::kAnnouncedBit | (kHasOther ? fields::kOtherBit : 0);
    const auto value = static_cast<std::uint8_t>(flags_ & ~kBits);
    if (value > static_cast<std::uint8_t>(field.max)) return fail();
    field.value = static_cast<Value>(value);
  }
  template <typename Part>
  void operator()(fields::Announced<Part> announced) {
    if (!is_good_ || (flags_ & announced.bit) == 0) return;
    if constexpr (std::integral<Part>) {
      (*this)(announced.part);
    } else {
      take(announced.part.emplace());
    }
  }
  void operator()(KeyedHash& hash) { take(hash); }
  void operator()(LockSecret& secret) { take(secret); }
  void operator()(ErrorMark& mark) { take(mark); }
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
  template <typename Value>
  void operator()(fields::Word<Value> word) {
    word.value = {};
    if (!is_good_ || bytes_.size() < sizeof word.value) return fail();
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&word.value, bytes_.data(), sizeof word.value);
    bytes_.remove_prefix(sizeof word.value);
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
  void operator()(fields::AttemptsPart<StoredJob, Box<Attempts>> part) {
    if (is_good_ && part.job.has_mark(job_marks::kHasAttempts)) take(part.attempts.emplace());
  }
  void operator()(Attempt& attempt) { take(attempt); }
  template <typename Part>
  void operator()(Box<Part>& part) {
    take(part.emplace());
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
      std::optional<Record> record(std::in_place, std::in_place_type<Kind>);
      Kind& value = std::get<Kind>(*record);
      take(value);
      if constexpr (std::is_same_v<Kind, JobAdded>) {
        // Ids begin at 1, and 0 is not in the index.
        if (value.id == 0) fail();
      }
      if constexpr (std::is_same_v<Kind, JobFinished>) {
        const bool is_number = value.number > 0 && value.number <= JobFinished::kNumberMax;
        const bool is_long = value.args && value.args->size() > JobFinished::kArgsBytesMax;
        if (!is_number || value.id == 0 || is_long) fail();
      }
      if constexpr (std::is_same_v<Kind, ChangeNoted>) {
        if (value.number == 0 || value.number > ChangeNoted::kNumberMax) fail();
      }
      if constexpr (std::is_same_v<Kind, TokenAdded>) {
        if (value.token->hash.size() != kTokenHashBytes) fail();
      }
      return record;
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
  std::uint8_t flags_ = 0;     ///< of the job or the limits at hand
  bool has_features_ = false;  ///< it as well
  std::uint32_t feature_bits_ = 0;
};

}  // namespace

void encode_without_body(const JobAdded& record, std::string& out) {
  PartialSink sink(out, record.body);
  Encoder(sink).record(record);
}

void encode(const Record& record, std::string& out) {
  std::visit([&out](const auto& kind) { encode(kind, out); }, record);
}

void encode(const Job& job, std::string_view queue, const Attempts* attempts, std::string& out) {
  StringSink sink(out);
  Encoder(sink).job_before_body(job, queue, attempts);
  sink.bytes(job.body_view());
}

std::uint64_t encoded_bytes(const JobFields& fields) {
  CountingSink sink;
  Encoder encoder(sink);
  encoder(fields);
  return sink.count();
}

std::uint64_t encoded_bytes(const Job& job, std::string_view queue, const Attempts* attempts) {
  CountingSink sink;
  Encoder(sink).job_before_body(job, queue, attempts);
  return sink.count() + job.body_bytes;
}

std::uint64_t encoded_attempt_bytes(const Job& job, const Attempts* attempts) {
  CountingSink sink;
  Encoder encoder(sink);
  encoder(fields::Marks<const JobFields>{job});
  encoder(fields::AttemptsPart{static_cast<const StoredJob&>(job), attempts});
  return sink.count();
}

std::uint64_t encoded_bytes(const Attempts& attempts) {
  CountingSink sink;
  Encoder encoder(sink);
  fields::each_field(attempts, encoder);
  return sink.count();
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
