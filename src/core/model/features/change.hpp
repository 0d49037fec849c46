#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

namespace millrace {

enum class ChangeOutcome : std::uint8_t {
  kMade,     ///< to how many jobs is not known, or not yet
  kCounted,  ///< to `count` jobs
  kRefused,  ///< `count` attempts within a minute
};

/// A change that a person or an administrator's program made, or tried to make.
struct Change {
  Time at{};
  std::string protocol;   ///< "http", "faktory", "beanstalk", or "server" for its own
  std::string from;       ///< the address of the client
  std::string user = {};  ///< who has logged in, by a name that nobody has checked; may be empty
  std::string how = {};   ///< how the user was identified: "password", "listener", "none", ...
  std::string client;     ///< what the client says it is, or the wid of a worker; may be empty
  std::string action;     ///< for example "queues/pause"
  std::string target;     ///< the name or the number of what was changed; empty: see `details`
  std::string details;    ///< which jobs, or before → after; may be empty
  std::string page = {};  ///< of the web UI on which it was asked for, as the client says; or empty
  ChangeOutcome outcome = ChangeOutcome::kMade;
  std::uint64_t count = 0;

  [[nodiscard]] bool is_refused() const { return outcome == ChangeOutcome::kRefused; }
  void count_jobs(std::uint64_t jobs) {
    outcome = ChangeOutcome::kCounted;
    count = jobs;
  }
  /// Cuts the texts, so that the record is at most `kChangeBytesMax` long.
  void shorten();

  bool operator==(const Change&) const = default;
};

/// For people: `127.0.0.1`, `2001:0db8:0000:0001::/64`, or `unix socket`. `peer` is 4 bytes of an
/// IPv4 address, 8 of the network of an IPv6 address, or a text.
[[nodiscard]] std::string shown_peer(std::string_view peer);

inline constexpr std::size_t kChangeTextBytesMax = 300;  ///< of each text, where it is read
/// Of a record: 10,000 of them are 8 MiB.
inline constexpr std::size_t kChangeBytesMax = 838;

}  // namespace millrace
