#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/net/bound_socket.hpp"

namespace millrace::server {

/// What systemd says in the environment. Sockets that it has opened for us have the descriptors
/// from 3 on.
struct Handover {
  std::string pid;    ///< LISTEN_PID: the process that is meant
  std::string count;  ///< LISTEN_FDS
  std::string names;  ///< LISTEN_FDNAMES: one for each, between colons; may be missing
  /// NOTIFY_SOCKET: where systemd waits to hear that the program is ready; empty: it does not.
  std::string notify_socket = {};
  std::string watchdog_usec = {};  ///< WATCHDOG_USEC: the longest time between two signs of life
  std::string watchdog_pid = {};   ///< WATCHDOG_PID: the process that it means; empty: any
};

struct HandedOver {
  std::string name;  ///< empty: none was given
  BoundSocket socket;
};

/// The sockets, none when another process is meant. A descriptor that does not listen is a problem.
[[nodiscard]] Outcome<std::vector<HandedOver>> take_sockets(const Handover& handover,
                                                            std::int64_t own_pid);

/// Where a socket may go.
struct SocketPlace {
  std::string_view name;               ///< of the port
  bool is_wanted;                      ///< false: it stays empty
  std::optional<BoundSocket>& socket;  ///< set once it has one
};

/// Gives each place that is wanted one socket at most, and answers what is left, which nobody may
/// connect to. A socket that is named after a port serves that port only; `faktory.socket`,
/// the name that systemd gives where the unit says none, is `faktory`, and `beanstalkd` is
/// `beanstalk`. Then the others take the places that are still empty, in order.
[[nodiscard]] std::vector<HandedOver> hand_out(std::vector<HandedOver> sockets,
                                               std::span<const SocketPlace> places);

/// Where systemd begins.
inline constexpr int kFirstHandedOver = 3;

/// More are a mistake.
inline constexpr int kHandedOverMax = 64;

}  // namespace millrace::server
