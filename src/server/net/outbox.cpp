#include "server/net/outbox.hpp"

#include <algorithm>

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

namespace millrace::server {
void Outbox::take(std::string& output, Lsn lsn) {
  if (output.empty()) return;
  if (bytes_.empty()) {
    bytes_.swap(output);
  } else {
    bytes_ += output;
    reset(output, kIdleBufferBytesMax);
  }
  const std::uint64_t end = bytes_begin_ + bytes_.size();
  if (!marks_.empty() && marks_.back().lsn == lsn) {
    marks_.back().end = end;
  } else {
    CHECK(marks_.empty() || marks_.back().lsn < lsn);
    marks_.push_back({.lsn = lsn, .end = end});
  }
}

std::string_view Outbox::covered(Lsn durable) const {
  const auto first_open = std::find_if(marks_.begin(), marks_.end(),
                                       [=](const Mark& mark) { return mark.lsn > durable; });
  if (first_open == marks_.begin()) return {};
  const std::uint64_t end = std::prev(first_open)->end - bytes_begin_;
  return std::string_view(bytes_).substr(sent_, end - sent_);
}

void Outbox::consume(std::size_t bytes) {
  CHECK(bytes <= size());
  sent_ += bytes;
  const std::uint64_t sent_end = bytes_begin_ + sent_;
  const auto first_kept = std::find_if(marks_.begin(), marks_.end(),
                                       [=](const Mark& mark) { return mark.end > sent_end; });
  marks_.erase(marks_.begin(), first_kept);
  if (sent_ == bytes_.size()) {
    clear();
  } else if (sent_ > bytes_.size() / 2) {
    bytes_.erase(0, sent_);
    bytes_begin_ += sent_;
    sent_ = 0;
  }
}

void Outbox::clear() {
  bytes_begin_ += bytes_.size();
  reset(bytes_, kIdleBufferBytesMax);
  sent_ = 0;
  marks_.clear();
}

}  // namespace millrace::server
