#include "server/process/descriptors.hpp"

#include <algorithm>
#include <string>

namespace millrace::server {

Outcome<ConnectionLimits> share_descriptors(const DescriptorNeeds& needs) {
  const std::uint64_t own =
      needs.open_already + kDescriptorsOfServer + kDescriptorsOfIoThread * needs.io_threads +
      (needs.io_threads > 0 ? 1 : 0) + (needs.has_journal ? kDescriptorsOfJournal : 0);
  if (needs.limit < own + kConnectionsMin) {
    return Problem{"the limit of open files is " + std::to_string(needs.limit) +
                   ", and the server needs at least " + std::to_string(own + kConnectionsMin) +
                   ": raise the hard limit (ulimit -Hn, LimitNOFILE)"};
  }
  const std::uint64_t left = needs.limit - own;
  const std::uint64_t web =
      needs.has_web ? std::min<std::uint64_t>(needs.web_connections_max, left / kWebPart) : 0;
  return ConnectionLimits{.clients = left - web, .web = static_cast<std::size_t>(web)};
}

}  // namespace millrace::server
