#include "journal/file/log_format.hpp"

#include <xxhash.h>

#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/number.hpp"

namespace millrace::journal {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are held");

/// The places of all fields are in docs/internals/journal-format.md.
constexpr std::string_view kMagic = "millrace";
constexpr std::string_view kSegmentSuffix = ".log";
/// As many as the largest position needs, so that names sort like numbers.
constexpr std::size_t kSegmentDigits = 20;

constexpr std::size_t kFirstAt = 16;
constexpr std::size_t kSaltAt = 24;
constexpr std::size_t kSegmentChecksumAt = 32;

constexpr std::string_view kExtentMagic = "millrext";
constexpr std::size_t kOldestAt = 8;
constexpr std::size_t kNewestAt = 16;
constexpr std::size_t kEndAt = 24;

constexpr std::size_t kStartAt = 0;
constexpr std::size_t kStartIdAt = 8;
constexpr std::size_t kStartChecksumAt = 16;

constexpr std::size_t kPayloadChecksumAt = 0;
constexpr std::size_t kHeaderChecksumAt = 8;
constexpr std::size_t kPayloadBytesAt = 12;
constexpr std::size_t kDurableAt = 16;

template <typename Number>
void store(char* at, Number number) {
  // By memcpy: a frame's fields need not be aligned.
  std::memcpy(at, &number, sizeof number);
}

template <typename Number>
Number load(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

/// Covers the length and the durable position. Its lower half is stored; the whole of it seeds the
/// payload's checksum, which so covers the header too.
std::uint64_t header_sum(const char* header, FramePlace place) {
  return XXH3_64bits_withSeed(header + kPayloadBytesAt, kFrameHeaderBytes - kPayloadBytesAt,
                              // The place is part of the sum. So a frame is whole only at its own
                              // position, in a segment of its own process.
                              place.lsn + place.salt);
}

bool is_known(std::uint32_t version) {
  return version >= kOldestFormatVersion && version <= kFormatVersion;
}

/// Whether the checksum of what should be a segment's header is right, whatever its version.
bool has_right_checksum(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes) return false;
  const auto checksum = load<std::uint64_t>(bytes.data() + kSegmentChecksumAt);
  return checksum == XXH3_64bits(bytes.data(), kSegmentChecksumAt);
}

}  // namespace

std::string segment_name(Lsn first) {
  const std::string digits = std::to_string(first);
  std::string name(kSegmentDigits - digits.size(), '0');
  name += digits;
  name += kSegmentSuffix;
  return name;
}

std::optional<Lsn> parse_segment_name(std::string_view name) {
  if (name.size() != kSegmentDigits + kSegmentSuffix.size()) return std::nullopt;
  if (!name.ends_with(kSegmentSuffix)) return std::nullopt;
  return parse_number<Lsn>(name.substr(0, kSegmentDigits));
}

std::array<char, kSegmentHeaderBytes> encode_segment_header(const SegmentHeader& header) {
  std::array<char, kSegmentHeaderBytes> bytes = {};
  kMagic.copy(bytes.data(), kMagic.size());
  store(bytes.data() + kVersionAt, kFormatVersion);
  store(bytes.data() + kFirstAt, header.first);
  store(bytes.data() + kSaltAt, header.salt);
  store(bytes.data() + kSegmentChecksumAt, XXH3_64bits(bytes.data(), kSegmentChecksumAt));
  return bytes;
}

std::optional<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  if (!is_known(load<std::uint32_t>(bytes.data() + kVersionAt))) return std::nullopt;
  if (!has_right_checksum(bytes)) return std::nullopt;
  return SegmentHeader{.first = load<Lsn>(bytes.data() + kFirstAt),
                       .salt = load<std::uint64_t>(bytes.data() + kSaltAt)};
}

std::optional<std::uint32_t> foreign_version(std::string_view bytes) {
  if (bytes.size() < kVersionAt + sizeof(std::uint32_t)) return std::nullopt;
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  const auto version = load<std::uint32_t>(bytes.data() + kVersionAt);
  // A damaged header must not be taken for a newer format: the checksum has to be right.
  if (version == 0 || is_known(version) || !has_right_checksum(bytes)) return std::nullopt;
  return version;
}

std::optional<std::uint64_t> claimed_salt(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes) return std::nullopt;
  return load<std::uint64_t>(bytes.data() + kSaltAt);
}

std::array<char, kExtentBytes> encode_extent(const LogExtent& extent) {
  std::array<char, kExtentBytes> bytes = {};
  kExtentMagic.copy(bytes.data(), kExtentMagic.size());
  store(bytes.data() + kOldestAt, extent.oldest);
  store(bytes.data() + kNewestAt, extent.newest);
  store(bytes.data() + kEndAt, extent.end);
  constexpr std::size_t kChecksumAt = kExtentBytes - sizeof(std::uint64_t);
  store(bytes.data() + kChecksumAt, XXH3_64bits(bytes.data(), kChecksumAt));
  return bytes;
}

std::optional<LogExtent> decode_extent(std::string_view bytes) {
  const bool has_end = bytes.size() == kExtentBytes;
  if (!has_end && bytes.size() != kShortExtentBytes) return std::nullopt;
  if (!bytes.starts_with(kExtentMagic)) return std::nullopt;
  const std::size_t checksum_at = bytes.size() - sizeof(std::uint64_t);
  const auto checksum = load<std::uint64_t>(bytes.data() + checksum_at);
  if (checksum != XXH3_64bits(bytes.data(), checksum_at)) return std::nullopt;
  return LogExtent{.oldest = load<Lsn>(bytes.data() + kOldestAt),
                   .newest = load<Lsn>(bytes.data() + kNewestAt),
                   .end = has_end ? load<Lsn>(bytes.data() + kEndAt) : 0};
}

std::array<char, kStartBytes> encode_start(const LogStart& start) {
  std::array<char, kStartBytes> bytes = {};
  store(bytes.data() + kStartAt, start.at);
  store(bytes.data() + kStartIdAt, start.id);
  store(bytes.data() + kStartChecksumAt, XXH3_64bits(bytes.data(), kStartChecksumAt));
  return bytes;
}

std::optional<LogStart> decode_start(std::string_view bytes) {
  if (bytes.size() != kStartBytes) return std::nullopt;
  const auto checksum = load<std::uint64_t>(bytes.data() + kStartChecksumAt);
  if (checksum != XXH3_64bits(bytes.data(), kStartChecksumAt)) return std::nullopt;
  return LogStart{.at = load<Lsn>(bytes.data() + kStartAt),
                  .id = load<std::uint64_t>(bytes.data() + kStartIdAt)};
}

std::array<char, kFrameHeaderBytes> encode_frame_header(std::string_view payload, Lsn durable,
                                                        FramePlace place) {
  CHECK(!payload.empty() && payload.size() <= kBatchBytesMax);
  std::array<char, kFrameHeaderBytes> bytes = {};
  store(bytes.data() + kPayloadBytesAt, static_cast<std::uint32_t>(payload.size()));
  store(bytes.data() + kDurableAt, durable);
  const std::uint64_t sum = header_sum(bytes.data(), place);
  store(bytes.data() + kHeaderChecksumAt, static_cast<std::uint32_t>(sum));
  store(bytes.data() + kPayloadChecksumAt,
        XXH3_64bits_withSeed(payload.data(), payload.size(), sum));
  return bytes;
}

std::optional<Frame> decode_frame(std::string_view bytes, FramePlace place) {
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  const auto payload_bytes = load<std::uint32_t>(bytes.data() + kPayloadBytesAt);
  const auto durable = load<Lsn>(bytes.data() + kDurableAt);
  // Before any sum: room that was never written is full of zeros, and most garbage ends here.
  if (payload_bytes == 0 || payload_bytes > kBatchBytesMax || durable > place.lsn) {
    return std::nullopt;
  }
  const std::uint64_t sum = header_sum(bytes.data(), place);
  if (load<std::uint32_t>(bytes.data() + kHeaderChecksumAt) != static_cast<std::uint32_t>(sum)) {
    return std::nullopt;
  }
  // The length is believed only now, after the header's checksum.
  const std::size_t whole_bytes = frame_bytes(payload_bytes);
  if (bytes.size() < whole_bytes) return std::nullopt;
  const std::string_view payload = bytes.substr(kFrameHeaderBytes, payload_bytes);
  const auto checksum = load<std::uint64_t>(bytes.data() + kPayloadChecksumAt);
  if (checksum != XXH3_64bits_withSeed(payload.data(), payload.size(), sum)) return std::nullopt;
  return Frame{.payload = payload, .durable = durable, .bytes = whole_bytes};
}

}  // namespace millrace::journal
