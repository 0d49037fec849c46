#include "tools/import/binlog_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "beanstalk/command.hpp"

namespace millrace::tools {
namespace {

constexpr std::int32_t kVersion = 7;
constexpr std::int32_t kOldVersion = 5;
constexpr std::size_t kJobBytes = 80;
constexpr std::size_t kOldJobBytes = 77;
constexpr std::size_t kStateAt = 76;
constexpr std::string_view kLineEnd = "\r\n";

static_assert(std::endian::native == std::endian::little);

/// The number at `offset`, which must be inside of `bytes`.
template <typename Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

/// What the file says, in nanoseconds. A value that no clock shows becomes the greatest.
Duration duration_of(std::uint64_t value, bool is_in_microseconds) {
  constexpr auto kMax = static_cast<std::uint64_t>(Duration::max().count());
  const std::uint64_t unit = is_in_microseconds ? 1000 : 1;
  return Duration{static_cast<std::int64_t>(value > kMax / unit ? kMax : value * unit)};
}

}  // namespace

Outcome<BinlogReader> BinlogReader::open(std::string_view bytes) {
  // A file that was only begun, or is to be written yet.
  if (is_zero(bytes.substr(0, kVersionBytes)) && is_zero(bytes)) {
    return BinlogReader(std::string_view{}, false);
  }
  if (bytes.size() < kVersionBytes) return Problem{"offset 0: it is not a beanstalkd binlog"};
  const auto version = number_at<std::int32_t>(bytes, 0);
  if (version == kVersion || version == kOldVersion) {
    return BinlogReader(bytes, version == kOldVersion);
  }
  constexpr std::int32_t kGreatestVersion = 1000;
  if (version <= 0 || version > kGreatestVersion) {
    return Problem{"offset 0: it is not a beanstalkd binlog on a machine like this one"};
  }
  return Problem{"offset 0: a binlog of version " + std::to_string(version) +
                 "; only 5 and 7 can be read"};
}

std::optional<BinlogRecord> BinlogReader::finish(End end) {
  end_ = end;
  return std::nullopt;
}

std::optional<BinlogRecord> BinlogReader::finish_broken(std::size_t bytes) {
  const bool was_torn = is_zero(bytes_.substr(offset_ + bytes - 1));
  return finish(was_torn ? End::kTorn : End::kDamaged);
}

BinlogRecord BinlogReader::read_job(std::string_view job) const {
  BinlogRecord record;
  const auto duration_at = [&](std::size_t offset) {
    return duration_of(number_at<std::uint64_t>(job, offset), is_old_);
  };
  record.id = number_at<std::uint64_t>(job, 0);
  record.pri = number_at<std::uint32_t>(job, 8);
  record.delay = duration_at(16);
  record.ttr = duration_at(24);
  record.created_at = Time{duration_at(40)};
  record.deadline_at = Time{duration_at(48)};
  record.tallies = {.reserves = number_at<std::uint32_t>(job, 56),
                    .timeouts = number_at<std::uint32_t>(job, 60),
                    .releases = number_at<std::uint32_t>(job, 64),
                    .buries = number_at<std::uint32_t>(job, 68),
                    .kicks = number_at<std::uint32_t>(job, 72)};
  record.state = static_cast<BinlogRecord::State>(number_at<std::uint8_t>(job, kStateAt));
  return record;
}

std::optional<BinlogRecord> BinlogReader::next() {
  if (offset_ >= bytes_.size() || is_zero(bytes_.substr(offset_))) return finish(End::kWhole);
  const std::string_view rest = bytes_.substr(offset_);
  const std::size_t length_bytes = is_old_ ? 8 : 4;
  const std::size_t job_bytes = is_old_ ? kOldJobBytes : kJobBytes;
  if (rest.size() < length_bytes + job_bytes) return finish(End::kCut);
  const std::uint64_t name_bytes =
      is_old_ ? number_at<std::uint64_t>(rest, 0) : number_at<std::uint32_t>(rest, 0);
  if (name_bytes > beanstalk::kTubeNameBytesMax) return finish(End::kDamaged);
  const std::size_t head_bytes = length_bytes + name_bytes + job_bytes;
  if (rest.size() < head_bytes) return finish(End::kCut);
  const std::string_view job = rest.substr(length_bytes + name_bytes, job_bytes);
  BinlogRecord record = read_job(job);
  if (record.state > BinlogRecord::State::kDelayed) return finish(End::kDamaged);
  if (record.id == 0) return finish_broken(head_bytes);
  if (name_bytes == 0) {
    offset_ += head_bytes;
    return record;
  }
  const auto stored_bytes = number_at<std::int32_t>(job, 32);
  if (stored_bytes < static_cast<std::int32_t>(kLineEnd.size())) return finish_broken(head_bytes);
  const auto body_bytes = static_cast<std::size_t>(stored_bytes);
  if (rest.size() - head_bytes < body_bytes) return finish(End::kCut);
  if (!rest.substr(head_bytes, body_bytes).ends_with(kLineEnd)) {
    return finish_broken(head_bytes + body_bytes);
  }
  record.is_whole = true;
  record.tube = rest.substr(length_bytes, name_bytes);
  record.body_at = offset_ + head_bytes;
  record.body_bytes = body_bytes - kLineEnd.size();
  offset_ += head_bytes + body_bytes;
  return record;
}

}  // namespace millrace::tools
