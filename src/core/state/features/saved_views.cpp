#include "core/state/features/saved_views.hpp"

#include <utility>

namespace millrace {

std::string_view SavedViews::find(std::string_view name) const {
  const auto found = slots_.find(name);
  return found == slots_.end() ? std::string_view{} : views_[found->second].record.query;
}

void SavedViews::apply(ViewSaved&& record) {
  const auto known = slots_.find(record.name);
  if (known != slots_.end()) {
    leave_log(known->second);
    views_.free(known->second);
    slots_.erase(known);
  }
  if (record.query.empty()) return;
  const Slot slot = views_.allocate();
  slots_.emplace(record.name, slot);
  views_[slot].record = std::move(record);
  enter_log(slot);
}

}  // namespace millrace
