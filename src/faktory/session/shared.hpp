#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "access/users.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/background.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/batch_maker.hpp"
#include "faktory/job/pusher.hpp"
#include "faktory/session/login_guard.hpp"

namespace millrace::faktory {

class FaktorySession;

/// What the operator chose, and what the service needs from the process that it runs in.
struct Settings {
  std::string password;                    ///< empty: none is asked for
  access::SharedUsers users = {};          ///< not null: their secrets count, not the password
  std::size_t line_bytes_max = 32u << 20;  ///< a longer line is skipped and answered with -ERR
  std::string version = "1.10.0";          ///< of the reference server, whose commands these are
  std::string description = "Faktory";     ///< in INFO: some applications look for another one
  std::uint64_t connections_max = 0;       ///< through the handshake at a time; 0: any number
  std::function<std::uint64_t()> random;   ///< cryptographically good; needed with a password
  std::function<std::uint64_t()> used_memory_mb;  ///< may be empty: zero is shown
  Background* background = nullptr;               ///< parses long lines; null: done at once
  /// A line that is longer is parsed there, whatever its verb; nullopt: see `in_place_bytes_max`.
  std::optional<std::size_t> in_place_bytes_max = {};
};

/// What the sessions of one service share.
struct Shared {
  Broker& broker;
  const WorkUnitFormat& format;
  Settings settings;
  Time started_at;
  bool is_draining = false;
  std::uint64_t connection_count = 0;  ///< open and through the handshake
  std::uint64_t command_count = 0;     ///< known commands since the start
  /// Lines of clients that are gone, which the background has not dropped yet.
  std::size_t left_behind_bytes = 0;
  LoginGuard logins = {};

  /// The session whose password is being hashed. Only one is hashed at a time, so that many logins
  /// at once take no more of a turn than one. Null: none is.
  const Session* hashing = nullptr;

  /// Those of users, through the handshake.
  absl::flat_hash_set<FaktorySession*> of_users = {};

  Pusher pusher{broker, format};
  BatchMaker batch_maker{broker};

  /// The job that is being shown. It is not the pusher's buffer: a job may be shown to the session
  /// that waits for it while another session is still pushing it.
  std::string shown = {};
};

}  // namespace millrace::faktory
