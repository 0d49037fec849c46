#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/session/login_guard.hpp"

namespace millrace::faktory {

struct Settings {
  std::string password;                    ///< empty: none
  std::size_t line_bytes_max = 32u << 20;  ///< a longer line is skipped and answered with -ERR
  std::string version = "1.10.0";          ///< of the server that we stand in for
  std::uint64_t connections_max = 0;       ///< through the handshake at a time; 0: any number
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
  LoginGuard logins = {};

  /// The session whose password is being hashed: one at a time, so that many logins at once take no
  /// more of a turn than one.
  const Session* hashing = nullptr;

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

  /// `peer` names where the client comes from, to slow down who tries passwords.
  [[nodiscard]] std::unique_ptr<Session> open(std::string peer = {});

  /// For who connects from now on.
  void set_password(std::string password) { state_.settings.password = std::move(password); }

  /// Who is through the handshake stays.
  void set_connections_max(std::uint64_t max) { state_.settings.connections_max = max; }
  /// Takes a job as PUSH does, from somebody who has no session. The problem is one line in the
  /// words of PUSH.
  [[nodiscard]] Outcome<JobId> push(std::string_view json, Time now);

  /// What INFO answers, with these queues. What is returned writes it, in any thread.
  [[nodiscard]] std::function<std::string()> info(Time now, QueueSizes sizes) const;

  /// Open and through the handshake.
  [[nodiscard]] std::uint64_t connection_count() const { return state_.connection_count; }

  /// From now on every command is answered with an error and the end of its connection.
  void drain() { state_.is_draining = true; }

 private:
  DoorState state_;
};

}  // namespace millrace::faktory
