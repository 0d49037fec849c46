#include "server/relay/leader_address.hpp"

#include "base/text.hpp"

namespace millrace::server {
namespace {

/// What stands after `name=`. Empty: there is no such word.
std::string_view find_value(std::string_view notes, std::string_view name) {
  while (!notes.empty()) {
    const std::string_view word = take_word(notes);
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return word.substr(name.size() + 1);
    }
  }
  return {};
}

std::string local(std::string_view name) {
  return std::string(kLocalPrefix) + std::string(name);
}

}  // namespace

std::optional<Address> find_port(std::string_view notes, std::string_view name) {
  const Outcome<Address> address = parse_address(find_value(notes, name));
  if (!address || address->host.empty() || address->port == 0) return std::nullopt;
  return *address;
}

std::optional<Address> find_leader_port(std::string_view leader, std::string_view own,
                                        std::string_view name) {
  if (auto address = find_port(leader, name)) {
    return address == find_port(own, name) ? std::nullopt : std::move(address);
  }
  const std::string_view loopback = find_value(leader, kLoopbackWord);
  if (loopback.empty() || loopback != find_value(own, kLoopbackWord)) return std::nullopt;
  return find_port(leader, local(name));
}

bool takes_reports_of(std::string_view leader, std::string_view own) {
  return find_value(leader, kReportsWord) == find_value(own, kReportsWord);
}

std::string show_port(std::string_view notes, std::string_view name) {
  auto address = find_port(notes, name);
  if (!address) address = find_port(notes, local(name));
  return std::string(name) + (address ? "=" + address->text() : "");
}

}  // namespace millrace::server
