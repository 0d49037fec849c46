#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace millrace::tools {

/// What one connection does again and again. False: nothing is left to do.
using BenchStep = std::function<Outcome<bool>()>;

/// A new connection, at a number from 0 on, with what it does.
using ConnectBench = std::function<Outcome<BenchStep>(std::size_t connection)>;

struct BenchLoad {
  std::size_t connections = 1;
  std::chrono::milliseconds time{2000};  ///< it ends then, or when nothing is left to do
};

struct BenchResult {
  double per_second = 0;
  std::chrono::nanoseconds median{};              ///< from the command to its reply
  std::chrono::nanoseconds slowest_of_hundred{};  ///< 99 % take no longer
};

/// Runs it on all connections at a time, each in a thread of its own.
[[nodiscard]] Outcome<BenchResult> run_load(const BenchLoad& load, const ConnectBench& connect);

}  // namespace millrace::tools
