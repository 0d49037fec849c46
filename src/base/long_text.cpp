#include "base/long_text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"

namespace millrace {

void LongText::add(std::string_view text) {
  if (parts_.empty() || parts_.back().owner) parts_.emplace_back();
  parts_.back().text += text;
  size_ += text.size();
}

void LongText::add(std::string_view text, TextOwner owner) {
  parts_.push_back({.text = {}, .view = text, .owner = std::move(owner)});
  size_ += text.size();
}

void LongText::add(LongText&& text) {
  CHECK(text.first_ == 0);
  std::move(text.parts_.begin(), text.parts_.end(), std::back_inserter(parts_));
  size_ += text.size_;
  text = LongText();
}

void LongText::take(std::size_t bytes_max, std::string& out) {
  out.reserve(out.size() + std::min(bytes_max, size_));
  while (bytes_max > 0 && size_ > 0) {
    Part& first = parts_[first_];
    const std::string_view some = first.rest().substr(0, bytes_max);
    out += some;
    bytes_max -= some.size();
    pass(first, some.size());
  }
  if (size_ == 0) *this = LongText();
}

void LongText::drop(std::size_t bytes) {
  CHECK(bytes <= size_);
  while (bytes > 0) {
    Part& first = parts_[first_];
    const std::size_t some = std::min(bytes, first.rest().size());
    bytes -= some;
    pass(first, some);
  }
  if (size_ == 0) *this = LongText();
}

void LongText::pass(Part& first, std::size_t bytes) {
  first.taken += bytes;
  size_ -= bytes;
  if (!first.rest().empty()) return;
  first = Part();
  ++first_;
}

}  // namespace millrace
