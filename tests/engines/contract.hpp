#pragma once

#include <functional>
#include <memory>
#include <span>

#include "journal/shared/log_service.hpp"

/// What every engine promises (journal/shared/log_service.hpp), tried on each that there is.
namespace millrace::engines {

/// Opens one more handle on the same log, as another server would. The log was empty and nobody had
/// opened it before the first call.
using OpenLog = std::function<std::unique_ptr<journal::LogService>()>;

struct ContractCase {
  const char* name;  ///< what should happen
  void (*check)(const OpenLog& open);
};

/// Each needs a log of its own. A test of an engine:
///
///     TEST_CASE("some engine: keeps the contract") {
///       for (const ContractCase& each : contract_cases()) {
///         SUBCASE(each.name) { each.check(new_log()); }
///       }
///     }
[[nodiscard]] std::span<const ContractCase> contract_cases();

}  // namespace millrace::engines
