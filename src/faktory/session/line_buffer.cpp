#include "faktory/session/line_buffer.hpp"

#include <algorithm>
#include <utility>

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace millrace::faktory {
namespace {

/// What a limit can depend on.
constexpr std::size_t kVerbBytesMax = 16;

}  // namespace

void LineBuffer::add(std::string_view bytes) {
  added_bytes_ += bytes.size();
  if (dropping_bytes_max_ != 0) {
    const std::size_t end = bytes.find('\n');
    dropping_bytes_ += std::min(end, bytes.size());
    if (end == std::string_view::npos) return;
    dropped_bytes_max_ = std::exchange(dropping_bytes_max_, 0);
    bytes.remove_prefix(end + 1);
  }
  if (is_in_long_line_) {
    const std::size_t end = bytes.find('\n');
    long_line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return drop_long_line_beyond_limit();
    is_in_long_line_ = false;
    has_long_line_ = true;
    bytes.remove_prefix(end + 1);
  }
  bytes_ += bytes;
}

/// False: the line is kept as it is.
bool LineBuffer::begin_long_line(std::string_view line, const Limit& limit) {
  const bool may_be_long = limit.is_report || limit.bytes_max == SIZE_MAX;
  if (!may_be_long || line.size() <= kLongLineBytes) return false;
  long_line_.append(line);
  long_line_bytes_max_ = bytes_max_by(limit);
  return true;
}

void LineBuffer::drop_long_line_beyond_limit() {
  // One more may be the CR, as below.
  if (long_line_.size() <= long_line_bytes_max_ + 1) return;
  long_line_ = {};
  is_in_long_line_ = false;
  dropping_bytes_max_ = long_line_bytes_max_;
  dropping_bytes_ = 0;
}

LineBuffer::Line LineBuffer::take_long_line() {
  has_long_line_ = false;
  taken_long_line_ = std::exchange(long_line_, {});
  if (taken_long_line_.back() == '\r') taken_long_line_.pop_back();
  if (taken_long_line_.size() <= long_line_bytes_max_) {
    return Line{.pieces = &taken_long_line_, .text = {}};
  }
  taken_long_line_ = {};
  return Line{.text = {}, .exceeded_bytes_max = long_line_bytes_max_};
}

bool LineBuffer::is_endless() const {
  return dropping_bytes_max_ != 0 && dropping_bytes_ > kDroppedBytesMax;
}

std::optional<LineBuffer::Line> LineBuffer::next() {
  // In its place among the lines, so that replies stay in order.
  if (dropped_bytes_max_ != 0) {
    return Line{.text = {}, .exceeded_bytes_max = std::exchange(dropped_bytes_max_, 0)};
  }
  if (is_endless()) {
    return Line{.text = {}, .exceeded_bytes_max = dropping_bytes_max_, .is_endless = true};
  }
  if (has_long_line_) return take_long_line();
  if (is_in_long_line_) return std::nullopt;
  const std::size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    // Bytes are searched once, however small the pieces in which a line arrives.
    searched_ = bytes_.size();
    // One more than the limit may be the CR of a line that is just short enough.
    // The rest of the line is dropped as it comes, so that it needs no memory.
    const std::string_view line = std::string_view(bytes_).substr(taken_);
    const Limit limit = limit_for(line);
    if (line.size() > bytes_max_by(limit) + 1) {
      dropping_bytes_max_ = bytes_max_by(limit);
      dropping_bytes_ = 0;
      taken_ = searched_;
    } else if (begin_long_line(line, limit)) {
      is_in_long_line_ = true;
      taken_ = searched_;
    }
    return std::nullopt;
  }
  std::string_view text = std::string_view(bytes_).substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  if (text.ends_with('\r')) text.remove_suffix(1);
  const Limit limit = limit_for(text);
  if (text.size() > bytes_max_by(limit)) {
    return Line{.text = {}, .exceeded_bytes_max = bytes_max_by(limit)};
  }
  if (begin_long_line(text, limit)) return take_long_line();
  return Line{.text = text};
}

/// Whose limit may be asked for before all of it has arrived.
LineBuffer::Limit LineBuffer::limit_for(std::string_view line) const {
  if (limit_of_ == nullptr || line.size() <= short_bytes_) return {.bytes_max = line_bytes_max_};
  return limit_of_(line.substr(0, kVerbBytesMax));
}

std::size_t LineBuffer::bytes_max_by(const Limit& limit) const {
  return limit.is_report ? limit.bytes_max : std::min(line_bytes_max_, limit.bytes_max);
}

void LineBuffer::compact() {
  CHECK(taken_ <= searched_ && searched_ <= bytes_.size());
  if (taken_ == bytes_.size()) {
    reset(bytes_, kIdleBufferBytesMax);
  } else if (taken_ > 0) {
    bytes_.erase(0, taken_);
  }
  searched_ -= taken_;
  taken_ = 0;
}

}  // namespace millrace::faktory
