#include "core/state/features/error_marks.hpp"

#include <utility>

#include "base/check.hpp"
#include "core/model/codec.hpp"

namespace millrace {

const ErrorMark* ErrorMarks::find(std::uint64_t group) const {
  const auto found = slots_.find(group);
  return found == slots_.end() ? nullptr : &marks_[found->second].record.mark;
}

void ErrorMarks::apply(ErrorMarked&& record) {
  const auto [place, is_new] = slots_.try_emplace(record.group);
  if (is_new) {
    place->second = marks_.allocate();
  } else {
    leave_log(place->second);
  }
  marks_[place->second].record = std::move(record);
  enter_log(place->second);
}

void ErrorMarks::apply(ErrorUnmarked&& record) {
  const auto found = slots_.find(record.group);
  if (found == slots_.end()) return;
  leave_log(found->second);
  marks_.free(found->second);
  slots_.erase(found);
}

void ErrorMarks::enter_log(Slot slot) {
  log_.push_newest(slot, 0);
  record_bytes_ += encoded_bytes(marks_[slot].record);
}

void ErrorMarks::leave_log(Slot slot) {
  const std::uint64_t bytes = encoded_bytes(marks_[slot].record);
  CHECK(bytes <= record_bytes_);
  record_bytes_ -= bytes;
  log_.remove(slot);
}

void ErrorMarks::rewrite_oldest(std::string& batch) {
  const Slot slot = log_.oldest().value();
  encode(marks_[slot].record, batch);
  leave_log(slot);
  enter_log(slot);
}

}  // namespace millrace
