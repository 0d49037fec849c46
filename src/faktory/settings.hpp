#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace millrace::faktory {

/// What the operator chose, and what the service needs from the process that it runs in.
struct Settings {
  std::string password;                    ///< empty: none is asked for
  std::size_t line_bytes_max = 32u << 20;  ///< a longer line is skipped and answered with -ERR
  std::string version = "1.10.0";          ///< of the reference server, whose commands these are
  std::string description = "Faktory";     ///< in INFO: some applications look for another one
  std::uint64_t connections_max = 0;       ///< through the handshake at a time; 0: any number
  std::function<std::uint64_t()> random;   ///< cryptographically good; needed with a password
  std::function<std::uint64_t()> used_memory_mb;  ///< may be empty: zero is shown
};

}  // namespace millrace::faktory
