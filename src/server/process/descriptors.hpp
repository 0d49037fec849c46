#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

/// How the limit of open files is shared, so that clients never take what the journal needs.
namespace millrace::server {

/// What a process has, and what it needs of that.
struct DescriptorNeeds {
  std::uint64_t limit = 0;         ///< of open files
  std::uint64_t open_already = 0;  ///< before anything was opened
  bool has_journal = false;        ///< on a disk
  bool has_web = false;
  std::size_t web_connections_max = 0;  ///< more are of no use
  std::size_t io_threads = 0;
};

struct ConnectionLimits {
  std::uint64_t clients = 0;  ///< of both job ports
  std::size_t web = 0;
};

/// How many connections there may be. A problem when the limit is too low to serve anybody.
[[nodiscard]] Outcome<ConnectionLimits> share_descriptors(const DescriptorNeeds& needs);

/// Those of the main loop, the ports, the start, files that are read now and then; the rest is for
/// what nobody thought of.
inline constexpr std::uint64_t kDescriptorsOfServer = 28;

/// Those of the journal at most: its directory, lock and extent; the present and the next segment;
/// five of the reserve, two while segments are removed; nine to read; one to spare.
inline constexpr std::uint64_t kDescriptorsOfJournal = 22;

/// Those of each thread for sockets. All of them share one more.
inline constexpr std::uint64_t kDescriptorsOfIoThread = 3;

/// With fewer connections a server is of no use.
inline constexpr std::uint64_t kConnectionsMin = 8;

/// The part of the connections that the web port may have, and how many are enough.
inline constexpr std::uint64_t kWebPart = 4;
inline constexpr std::size_t kWebConnectionsMax = 128;

}  // namespace millrace::server
