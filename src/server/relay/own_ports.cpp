#include "server/relay/own_ports.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

void OwnPorts::add(std::string name, int descriptor) {
  ports_.push_back({.name = std::move(name), .place = near_end(descriptor)});
}

bool OwnPorts::may_reach(std::string_view name, const SocketName& to) const {
  const auto place = place_of(reinterpret_cast<const sockaddr*>(&to.storage));
  if (!place || is_here(*place)) return false;
  // The system connects to loopback for the address that stands for all.
  if (!place->is_loopback() && !place->is_any()) return true;
  const auto is_it = [&](const Port& port) { return port.name == name; };
  const auto own = std::find_if(ports_.begin(), ports_.end(), is_it);
  if (own != ports_.end()) return own->is_local();
  return std::all_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.is_local(); });
}

bool OwnPorts::is_here(const Place& to) const {
  return std::any_of(ports_.begin(), ports_.end(), [&](const Port& port) {
    if (!port.place || port.place->port != to.port) return false;
    if (port.place->address == to.address) return true;
    if (to.is_any()) return port.place->is_any() || port.place->is_loopback();
    return port.place->is_any() && (to.is_loopback() || is_of_this_machine(to));
  });
}

}  // namespace millrace::server
