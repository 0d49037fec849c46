#include "server/handover.hpp"

#include <charconv>
#include <string_view>
#include <utility>

namespace millrace::server {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::string take_name(std::string_view& names) {
  const std::string_view name = names.substr(0, names.find(':'));
  names.remove_prefix(std::min(name.size() + 1, names.size()));
  return std::string(name);
}

}  // namespace

Outcome<std::vector<HandedOver>> take_sockets(const Handover& handover, std::int64_t own_pid) {
  std::vector<HandedOver> taken;
  if (parse_number(handover.pid) != own_pid) return taken;
  const std::optional<std::int64_t> count = parse_number(handover.count);
  if (!count || *count < 0 || *count > kHandedOverMax) {
    return Problem{"LISTEN_FDS is not a number of sockets: '" + handover.count + "'"};
  }
  std::string_view names = handover.names;
  for (int i = 0; i < static_cast<int>(*count); ++i) {
    auto socket = BoundSocket::adopt(kFirstHandedOver + i);
    if (!socket) return socket.error();
    taken.push_back({take_name(names), std::move(*socket)});
  }
  return taken;
}

}  // namespace millrace::server
