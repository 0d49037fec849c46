#pragma once

#include <optional>
#include <string_view>

#include "server/net/address.hpp"

namespace millrace::server {

/// The port of this name in what a server tells the others of itself: `name=address` separated by
/// blanks. nullopt: it has none, or none that others can reach.
[[nodiscard]] std::optional<Address> find_port(std::string_view notes, std::string_view name);

}  // namespace millrace::server
