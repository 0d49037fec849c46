#include "core/state/features/audit_log.hpp"

#include <utility>

#include "base/hash.hpp"

namespace millrace {
namespace {

std::uint32_t hash_of(std::string_view target) {
  Fnv1a hash;
  hash.add(target);
  return static_cast<std::uint32_t>(hash.value());
}

}  // namespace

const Change* AuditLog::find(Number number) const {
  const auto found = places_.find(number);
  return found == places_.end() ? nullptr : changes_[found->second.slot].record.change.get();
}

void AuditLog::each_before(Number number, const Visitor& visit) const {
  for (auto at = places_.lower_bound(number); at != places_.begin();) {
    --at;
    if (!visit(at->first, *changes_[at->second.slot].record.change)) return;
  }
}

void AuditLog::each_of(std::string_view target, const Visitor& visit) const {
  const std::uint32_t hash = hash_of(target);
  for (auto at = places_.end(); at != places_.begin();) {
    --at;
    if (at->second.target_hash != hash) continue;
    const Change& change = *changes_[at->second.slot].record.change;
    if (change.target == target && !visit(at->first, change)) return;
  }
}

void AuditLog::apply(ChangeNoted&& record) {
  const Number number = record.number;
  const auto [at, is_new] = places_.try_emplace(number);
  Place& place = at->second;
  if (is_new) {
    place.slot = changes_.allocate();
  } else {
    leave_log(place.slot);
  }
  place.target_hash = hash_of(record.change->target);
  if (record.change->is_refused()) refused_.insert(number);
  changes_[place.slot].record = std::move(record);
  enter_log(place.slot);
  // Refused ones first: with other steps, what is kept would depend on the order of the records.
  if (refused_.size() > kRefusedMax) drop(*refused_.begin());
  if (places_.size() > kChangesMax) drop(places_.begin()->first);
}

void AuditLog::drop(Number number) {
  const auto found = places_.find(number);
  leave_log(found->second.slot);
  changes_.free(found->second.slot);
  places_.erase(found);
  refused_.erase(number);
}

}  // namespace millrace
