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
  if (dropping_bytes_max_ != 0) {
    const std::size_t end = bytes.find('\n');
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

void LineBuffer::drop_long_line_beyond_limit() {
  // One more may be the CR, as below.
  if (long_line_.size() <= line_bytes_max_ + 1) return;
  long_line_ = {};
  is_in_long_line_ = false;
  dropping_bytes_max_ = line_bytes_max_;
}

bool LineBuffer::is_kept_in_pieces(std::string_view line) const {
  return limit_of_ != nullptr && line.size() > kLongLineBytes &&
         limit_of_(line.substr(0, kVerbBytesMax)) == SIZE_MAX;
}

LineBuffer::Line LineBuffer::take_long_line() {
  has_long_line_ = false;
  taken_long_line_ = std::exchange(long_line_, {});
  const std::size_t size = taken_long_line_.size();
  if (taken_long_line_.piece(size - 1, 1) == "\r") taken_long_line_.shorten(size - 1);
  if (taken_long_line_.size() > line_bytes_max_) {
    taken_long_line_ = {};
    return Line{.text = {}, .exceeded_bytes_max = line_bytes_max_};
  }
  return Line{.pieces = &taken_long_line_, .text = {}};
}

std::optional<LineBuffer::Line> LineBuffer::next() {
  // In its place among the lines, so that replies stay in order.
  if (dropped_bytes_max_ != 0) {
    return Line{.text = {}, .exceeded_bytes_max = std::exchange(dropped_bytes_max_, 0)};
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
    const std::size_t limit = limit_for(line);
    if (line.size() > limit + 1) {
      dropping_bytes_max_ = limit;
      taken_ = searched_;
    } else if (is_kept_in_pieces(line)) {
      long_line_.append(line);
      is_in_long_line_ = true;
      taken_ = searched_;
    }
    return std::nullopt;
  }
  std::string_view text = std::string_view(bytes_).substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t limit = limit_for(text);
  if (text.size() > limit) return Line{.text = {}, .exceeded_bytes_max = limit};
  if (is_kept_in_pieces(text)) {
    long_line_.append(text);
    return take_long_line();
  }
  return Line{.text = text};
}

/// Whose limit may be asked for before all of it has arrived.
std::size_t LineBuffer::limit_for(std::string_view line) const {
  if (limit_of_ == nullptr || line.size() <= short_bytes_) return line_bytes_max_;
  return std::min(line_bytes_max_, limit_of_(line.substr(0, kVerbBytesMax)));
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
