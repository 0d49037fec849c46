#include "core/broker/features/activity.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace millrace {

Activity::Number Activity::note(Change change) {
  for (std::string* text : {&change.from, &change.user, &change.client, &change.action,
                            &change.target, &change.details, &change.page}) {
    text->resize(cut(*text, kTextBytesMax).size());
  }
  changes_.push_back(std::move(change));
  if (changes_.size() > kChangesMax) changes_.pop_front();
  return ++noted_;
}

void Activity::finish(Number number, std::uint64_t changed) {
  const Number first = noted_ - changes_.size() + 1;
  if (number >= first && number <= noted_) changes_[number - first].changed = changed;
}

void Activity::finish_operation(std::uint64_t operation, std::uint64_t changed) {
  const auto found = std::ranges::find(changes_, operation, &Change::operation);
  if (found != changes_.end()) found->changed = changed;
}

void Activity::each_before(Number number,
                           const std::function<bool(Number, const Change&)>& visit) const {
  const Number first = noted_ - changes_.size() + 1;
  for (number = std::min(number, end()); number > first; --number) {
    if (!visit(number - 1, changes_[number - 1 - first])) return;
  }
}

}  // namespace millrace
