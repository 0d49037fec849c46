#pragma once

#include "core/broker/broker.hpp"
#include "core/state/ledger.hpp"

namespace millrace::simulation {

/// A state without clients: what replaying a log gives.
struct Shadow {
  explicit Shadow(const WorkUnitFormat& format) : broker(ledger, format, {}) {}
  Ledger ledger;
  Broker broker;
};

}  // namespace millrace::simulation
