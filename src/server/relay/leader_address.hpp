#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/net/address.hpp"

namespace millrace::server {

/// The port of this name in what a server tells the others of itself: `name=address` separated by
/// blanks. nullopt: it has none, or none that others can reach.
[[nodiscard]] std::optional<Address> find_port(std::string_view notes, std::string_view name);

/// Those ports of `leader` that `own` has with the same address, in the same form: who asks there
/// reaches this server, and not the leader. So it is with ports that listen on loopback.
[[nodiscard]] std::string same_ports(std::string_view leader, std::string_view own);

}  // namespace millrace::server
