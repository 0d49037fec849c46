#pragma once

#include <chrono>

#include "core/model/types.hpp"

namespace millrace::faktory {

/// When everything happens in tests that need no other time.
inline constexpr Time kNow{std::chrono::seconds{1'700'000'000}};

}  // namespace millrace::faktory
