#pragma once

#include <array>
#include <cstdint>

#include "beanstalk/command.hpp"
#include "beanstalk/settings.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::beanstalk {

/// What this door counts; the rest of `stats` is counted by the broker.
struct Counters {
  std::array<std::uint64_t, kCommandCount> commands{};  ///< by `command_index`
  std::uint64_t connections = 0;                        ///< open now
  std::uint64_t producers = 0;                          ///< of those, have put
  std::uint64_t workers = 0;                            ///< of those, have reserved
  std::uint64_t total_connections = 0;
};

/// What the sessions of one door share.
struct DoorState {
  Broker& broker;
  const WorkUnitFormat& format;
  Settings settings;
  Time started_at;
  bool is_draining = false;
  Counters counters{};
};

}  // namespace millrace::beanstalk
