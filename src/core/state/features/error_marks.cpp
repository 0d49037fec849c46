#include "core/state/features/error_marks.hpp"

#include <utility>

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

}  // namespace millrace
