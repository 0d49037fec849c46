#include "client/known_host.hpp"

#include <netdb.h>

namespace millrace::client {

bool is_known_host(const std::string& host) {
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

}  // namespace millrace::client
