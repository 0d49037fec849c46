#include "core/state/throttle/slot_holders.hpp"

#include "base/check.hpp"

namespace millrace {

SlotHolder& SlotHolders::take(const Reservation& held, std::uint32_t place) {
  const ClientId connection = held.wid.empty() ? held.consumer : 0;
  std::unique_ptr<SlotHolder>& holder =
      connection == 0 ? workers_[held.wid] : connections_[connection];
  if (!holder) {
    holder = std::make_unique<SlotHolder>();
    holder->wid = held.wid;
    holder->connection = connection;
  }
  ++holder->slots[place];
  return *holder;
}

void SlotHolders::give_back(SlotHolder& holder, std::uint32_t place) {
  const auto count = holder.slots.find(place);
  CHECK(count != holder.slots.end());
  if (--count->second > 0) return;
  holder.slots.erase(count);
  if (!holder.slots.empty()) return;
  if (holder.connection == 0) {
    workers_.erase(workers_.find(holder.wid));
  } else {
    connections_.erase(holder.connection);
  }
}

const SlotHolder* SlotHolders::find(std::string_view wid, ClientId connection) const {
  if (!wid.empty() || connection == 0) {
    const auto found = workers_.find(wid);
    return found == workers_.end() ? nullptr : found->second.get();
  }
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : found->second.get();
}

std::uint32_t SlotHolders::count(std::string_view wid, ClientId connection,
                                 std::uint32_t place) const {
  const SlotHolder* const holder = find(wid, connection);
  if (holder == nullptr) return 0;
  const auto count = holder->slots.find(place);
  return count == holder->slots.end() ? 0 : count->second;
}

}  // namespace millrace
