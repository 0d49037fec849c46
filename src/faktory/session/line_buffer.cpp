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
  bytes_ += bytes;
}

std::optional<LineBuffer::Line> LineBuffer::next() {
  // In its place among the lines, so that replies stay in order.
  if (dropped_bytes_max_ != 0) {
    return Line{.text = {}, .exceeded_bytes_max = std::exchange(dropped_bytes_max_, 0)};
  }
  const std::size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    // Bytes are searched once, however small the pieces in which a line arrives.
    searched_ = bytes_.size();
    // One more than the limit may be the CR of a line that is just short enough.
    // The rest of the line is dropped as it comes, so that it needs no memory.
    const std::size_t limit = limit_for(std::string_view(bytes_).substr(taken_));
    if (kept_bytes() > limit + 1) {
      dropping_bytes_max_ = limit;
      taken_ = searched_;
    }
    return std::nullopt;
  }
  std::string_view text = std::string_view(bytes_).substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t limit = limit_for(text);
  if (text.size() > limit) return Line{.text = {}, .exceeded_bytes_max = limit};
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
