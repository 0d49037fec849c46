#include "server/system/handover.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

/// The port that a socket's name means, if there is one of that name.
std::string_view port_of(std::string_view name) {
  constexpr std::string_view kUnitSuffix = ".socket";
  if (name.ends_with(kUnitSuffix)) name.remove_suffix(kUnitSuffix.size());
  return name == "beanstalkd" ? "beanstalk" : name;
}

bool is_free(const SocketPlace& place) {
  return place.is_wanted && !place.socket;
}

}  // namespace

Outcome<std::vector<HandedOver>> take_sockets(const Handover& handover, std::int64_t own_pid) {
  std::vector<HandedOver> taken;
  if (parse_number<std::int64_t>(handover.pid) != own_pid) return taken;
  const std::optional<std::int64_t> count = parse_number<std::int64_t>(handover.count);
  if (!count || *count < 0 || *count > kHandedOverMax) {
    return Problem{"LISTEN_FDS is not a number of sockets: '" + handover.count + "'"};
  }
  std::string_view names = handover.names;
  for (int i = 0; i < static_cast<int>(*count); ++i) {
    auto socket = BoundSocket::adopt(kFirstHandedOver + i);
    if (!socket) return socket.error();
    taken.push_back({std::string(take_until(names, ':')), std::move(*socket)});
  }
  return taken;
}

std::vector<HandedOver> hand_out(std::vector<HandedOver> sockets,
                                 std::span<const SocketPlace> places) {
  std::vector<HandedOver> unnamed;
  std::vector<HandedOver> left;
  for (HandedOver& each : sockets) {
    const auto own = std::find_if(places.begin(), places.end(), [&](const SocketPlace& place) {
      return place.name == port_of(each.name);
    });
    if (own == places.end()) {
      unnamed.push_back(std::move(each));
    } else if (is_free(*own)) {
      own->socket.emplace(std::move(each.socket));
    } else {
      left.push_back(std::move(each));
    }
  }
  for (HandedOver& each : unnamed) {
    const auto free = std::find_if(places.begin(), places.end(), is_free);
    if (free == places.end()) {
      left.push_back(std::move(each));
    } else {
      free->socket.emplace(std::move(each.socket));
    }
  }
  return left;
}

}  // namespace millrace::server
