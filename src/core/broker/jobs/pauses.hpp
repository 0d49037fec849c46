#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/clients/waits.hpp"
#include "core/model/refusal.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Pauses of queues: a paused queue hands out nothing.
class Pauses {
 public:
  /// All of them outlive this.
  Pauses(Ledger& ledger, const AdmissionControl& admission, Waits& waits)
      : ledger_(ledger), admission_(admission), waits_(waits) {}

  /// See `AdminOperations::pause`.
  Answer<Done> pause(std::string_view queue, std::optional<std::uint32_t> seconds, Time now);

  /// Ends at most a slice of the pauses whose time is over. `Waits::serve_unserved` then serves the
  /// clients that wait.
  void end_due(Time now);
  /// When the next pause ends.
  [[nodiscard]] Time next_due() const;

 private:
  Ledger& ledger_;
  const AdmissionControl& admission_;
  Waits& waits_;
};

}  // namespace millrace
