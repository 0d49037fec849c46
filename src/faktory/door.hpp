#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/broker.hpp"
#include "core/session.hpp"
#include "core/types.hpp"
#include "core/work_unit.hpp"
#include "faktory/job_reader.hpp"

namespace millrace::faktory {

struct Settings {
  std::string password;                    ///< empty: none
  std::size_t line_bytes_max = 32u << 20;  ///< a longer line is skipped and answered with -ERR
  std::string version = "1.10.0";          ///< of the server that we stand in for
  std::function<std::uint64_t()> random;   ///< cryptographically good; needed with a password
  std::function<std::uint64_t()> used_memory_mb;  ///< may be empty: zero
};

/// What all connections of the door share.
struct DoorState {
  Broker& broker;
  const WorkUnitFormat& format;
  Settings settings;
  Time started_at;
  bool is_draining = false;
  std::uint64_t connection_count = 0;  ///< open and through the handshake
  std::uint64_t command_count = 0;     ///< known commands since the start
  JobReader reader = {};

  /// Two buffers, since a put may at once be delivered to another session: what is being pushed,
  /// and what is being shown.
  std::string pushed = {};
  std::string shown = {};
};

/// The Faktory door: FWP sessions over the broker. `broker` and `format` must outlive it, and it
/// must outlive its sessions.
class Door {
 public:
  Door(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at);

  [[nodiscard]] std::unique_ptr<Session> open();

  /// From now on every command is answered with an error and the end of its connection.
  void drain() { state_.is_draining = true; }

 private:
  DoorState state_;
};

}  // namespace millrace::faktory
