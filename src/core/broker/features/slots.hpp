#pragma once

#include <cstdint>
#include <optional>

#include "core/broker/clients/waits.hpp"
#include "core/model/order.hpp"
#include "core/state/ledger.hpp"
#include "core/state/throttle/throttles.hpp"

namespace millrace {

/// Sees to it that slots and tokens which become free by time, or by a change of limits, are used
/// at once.
class Slots {
 public:
  /// All of them outlive this.
  struct Parts {
    Ledger& ledger;
    Waits& waits;
  };
  explicit Slots(Parts parts) : parts_(parts) {}

  /// These rules hold from now on. For the first time, before any client connects: all is counted
  /// at once. Later, the limits of the queues change in slices.
  void set_rules(ThrottleRules rules, Time now);
  /// The stored limits of that name, of a queue or a type, have changed.
  void refresh(std::string_view name, Time now);

  /// At most a slice. Queues with free slots are left to `Waits::serve_unserved`.
  void work(Time now);
  /// When it has something to do.
  [[nodiscard]] Time next_due() const;

 private:
  [[nodiscard]] Throttles& throttles() { return parts_.ledger.store().throttles(); }
  [[nodiscard]] const Throttles& throttles() const { return parts_.ledger.store().throttles(); }
  void refresh_some(Time now);
  void count_some(Time now);
  void count(const Job& job, Time now);
  void line_up_some(Time now);
  void wake(Throttle& type, Time now);
  void look_at_due(Time now);
  void forget_full_buckets(Time now);

  Parts parts_;
  /// The next queue in the order of creation that is to be looked at; nullopt: all were.
  std::optional<std::uint64_t> refreshed_to_;
  /// The last reservation that was counted, and the count that it belongs to.
  std::optional<TimeEntry> counted_to_;
  std::uint64_t count_at_hand_ = 0;
};

}  // namespace millrace
