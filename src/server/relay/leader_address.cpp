#include "server/relay/leader_address.hpp"

#include <algorithm>

namespace millrace::server {

std::optional<Address> find_port(std::string_view notes, std::string_view name) {
  while (!notes.empty()) {
    const std::size_t end = std::min(notes.find(' '), notes.size());
    const std::string_view each = notes.substr(0, end);
    notes.remove_prefix(std::min(end + 1, notes.size()));
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos || each.substr(0, equals) != name) continue;
    const Outcome<Address> address = parse_address(each.substr(equals + 1));
    if (!address || address->is_unix() || address->port == 0) return std::nullopt;
    return *address;
  }
  return std::nullopt;
}

}  // namespace millrace::server
