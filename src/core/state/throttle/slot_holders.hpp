#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/model/job.hpp"
#include "core/state/throttle/throttle.hpp"

namespace millrace {

/// How many slots of each throttle a worker has. A connection that speaks for no worker counts as
/// one.
class SlotHolders {
 public:
  /// The holder of the reservation has one more slot of the throttle in that place.
  [[nodiscard]] SlotHolder& take(const Reservation& held, std::uint32_t place);
  /// One less. The holder may be gone then.
  void give_back(SlotHolder& holder, std::uint32_t place);

  /// With an empty `wid` the connection is the worker.
  [[nodiscard]] std::uint32_t count(std::string_view wid, ClientId connection,
                                    std::uint32_t place) const;

 private:
  [[nodiscard]] const SlotHolder* find(std::string_view wid, ClientId connection) const;

  /// The holders have addresses that stay.
  TextMap<std::unique_ptr<SlotHolder>> workers_;
  absl::flat_hash_map<ClientId, std::unique_ptr<SlotHolder>> connections_;
};

}  // namespace millrace
