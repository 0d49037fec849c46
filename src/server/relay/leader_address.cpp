#include "server/relay/leader_address.hpp"

#include "base/text.hpp"

namespace millrace::server {
namespace {

bool has_word(std::string_view notes, std::string_view wanted) {
  while (!notes.empty()) {
    if (take_word(notes) == wanted) return true;
  }
  return false;
}

}  // namespace

std::string same_ports(std::string_view leader, std::string_view own) {
  std::string same;
  while (!leader.empty()) {
    const std::string_view word = take_word(leader);
    if (word.empty() || !has_word(own, word)) continue;
    same += (same.empty() ? "" : " ") + std::string(word);
  }
  return same;
}

std::optional<Address> find_port(std::string_view notes, std::string_view name) {
  while (!notes.empty()) {
    const std::string_view each = take_word(notes);
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos || each.substr(0, equals) != name) continue;
    const Outcome<Address> address = parse_address(each.substr(equals + 1));
    if (!address || address->is_unix() || address->port == 0) return std::nullopt;
    return *address;
  }
  return std::nullopt;
}

}  // namespace millrace::server
