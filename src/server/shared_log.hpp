#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "journal/file/file_system.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "server/options/config.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Connects to the engine of `--log`.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_log(const Config& config);

/// Tells, once and before any of the password is sent, what `--log` leaves unprotected.
void note_exposure(const Config& config, const Log& log);

/// Refuses a data directory that is a cache of a shared log, or whose jobs were moved to one:
/// without `--log` it would go on from there alone.
[[nodiscard]] Outcome<Done> refuse_cache(journal::FileSystem& files, const Config& config);

/// Connects to the engine, makes the data directory a cache of its log, and opens that. Refused
/// where the directory has the journal of a server without `--log`. `ports` is what
/// `advertised_ports` says. All but `config` outlive the journal.
[[nodiscard]] Outcome<std::unique_ptr<journal::ReplicatedJournal>> open_shared_journal(
    const Config& config, journal::FileSystem& files, Clock& clock, const Log& log,
    const std::string& ports);

/// The same over an engine that is connected and a directory that has no journal. It will hold the
/// log, and not lead it, so it has no ports.
[[nodiscard]] Outcome<std::unique_ptr<journal::ReplicatedJournal>> open_holding_journal(
    const Config& config, journal::FileSystem& files, Clock& clock, const Log& log,
    std::unique_ptr<journal::LogService> service);

/// A number that is not 0, which means none. It names one thing among all machines.
[[nodiscard]] std::uint64_t random_name();

/// A port that is bound.
struct OwnPort {
  std::string name;
  Address address;
  bool is_local = false;  ///< only programs on this machine can connect
};

/// How others may find this machine.
struct MachineNames {
  std::string advertised;  ///< by --advertise; or empty
  std::string hostname;
  std::string loopback;  ///< see `loopback_name`
};

/// What other servers are told of this one: where its ports are (`relay/leader_address.hpp`).
[[nodiscard]] std::string advertised_ports(const std::vector<OwnPort>& ports,
                                           const MachineNames& names);

}  // namespace millrace::server
