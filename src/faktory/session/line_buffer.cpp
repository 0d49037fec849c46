#include "faktory/session/line_buffer.hpp"

#include "base/check.hpp"

namespace millrace::faktory {

void LineBuffer::add(std::string_view bytes) {
  if (is_dropping_) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    is_dropping_ = false;
    has_dropped_line_ = true;
    bytes.remove_prefix(end + 1);
  }
  bytes_ += bytes;
}

std::optional<LineBuffer::Line> LineBuffer::next() {
  // In its place among the lines, so that replies stay in order.
  if (has_dropped_line_) {
    has_dropped_line_ = false;
    return Line{.text = {}, .is_too_long = true};
  }
  const std::size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    // Bytes are searched once, however small the pieces in which a line arrives.
    searched_ = bytes_.size();
    // One more than the limit may be the CR of a line that is just short enough.
    // The rest of the line is dropped as it comes, so that it needs no memory.
    if (kept_bytes() > line_bytes_max_ + 1) {
      is_dropping_ = true;
      taken_ = searched_;
    }
    return std::nullopt;
  }
  std::string_view text = std::string_view(bytes_).substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > line_bytes_max_) return Line{.text = {}, .is_too_long = true};
  return Line{.text = text};
}

void LineBuffer::compact() {
  CHECK(taken_ <= searched_ && searched_ <= bytes_.size());
  if (taken_ == bytes_.size()) {
    bytes_ = std::string{};
  } else if (taken_ > 0) {
    bytes_.erase(0, taken_);
  }
  searched_ -= taken_;
  taken_ = 0;
}

}  // namespace millrace::faktory
