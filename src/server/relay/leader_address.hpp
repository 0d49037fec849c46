#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/net/address.hpp"

/// What servers that share a log tell each other of their ports: words with blanks between them.
///
///     web=n1:7420               others reach this port there
///     local-web=127.0.0.1:7420  it listens on loopback: only servers with the same loopback do
///     loopback=6af0...          names that
///     reports=2                 it reads reports that are signed in this form
namespace millrace::server {

/// The port of this name that `notes` tell to everybody. nullopt: there is none, or none that
/// others can reach.
[[nodiscard]] std::optional<Address> find_port(std::string_view notes, std::string_view name);

/// The port of this name of the leader that tells `leader`, for a server that tells `own`. nullopt:
/// this server has no way to it. So it is also where both tell one address: whoever asks there may
/// reach this server.
[[nodiscard]] std::optional<Address> find_leader_port(std::string_view leader, std::string_view own,
                                                      std::string_view name);

/// Whether the leader that tells `leader` reads the reports of a server that tells `own`.
[[nodiscard]] bool takes_reports_of(std::string_view leader, std::string_view own);

/// For people: `web=127.0.0.1:7420`, or only the name where `notes` have no such port.
[[nodiscard]] std::string show_port(std::string_view notes, std::string_view name);

inline constexpr std::string_view kLocalPrefix = "local-";
inline constexpr std::string_view kLoopbackWord = "loopback";
inline constexpr std::string_view kReportsWord = "reports";

}  // namespace millrace::server
