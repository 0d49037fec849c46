#include "engines/host.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

namespace millrace::engines {

bool stays_on_this_machine(std::string_view host) {
  if (host.empty() || host.front() == '/' || host.front() == '@' || host == "localhost")
    return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr four{};
  in6_addr six{};
  const std::string text(host);
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

}  // namespace millrace::engines
