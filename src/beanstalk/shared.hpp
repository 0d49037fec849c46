#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>

#include "beanstalk/command.hpp"
#include "beanstalk/settings.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::beanstalk {

class BeanstalkSession;

/// What the sessions count; the broker counts the rest of `stats`.
struct Counters {
  std::array<std::uint64_t, kCommandCount> commands{};  ///< by `command_index`
  std::uint64_t connections = 0;                        ///< open now
  std::uint64_t producers = 0;                          ///< of those, that have put
  std::uint64_t workers = 0;                            ///< of those, that have reserved
  std::uint64_t total_connections = 0;
};

/// What the sessions of one service share.
struct Shared {
  Broker& broker;
  const WorkUnitFormat& format;
  Settings settings;
  Time started_at;
  bool is_draining = false;
  Counters counters{};
  absl::flat_hash_set<BeanstalkSession*> of_users = {};  ///< sessions of users
};

}  // namespace millrace::beanstalk
