#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "client/beanstalk.hpp"
#include "client/target.hpp"
#include "tools/peers/job_peer.hpp"

/// The other servers that jobs come from and go to, as operators name them.
namespace millrace::tools {

inline constexpr int kFaktoryPort = 7419;

/// A server of the Faktory protocol.
struct FaktoryAddress {
  client::Target target;
  std::string password;
};

/// Reads `beanstalk://HOST[:PORT]`.
[[nodiscard]] std::optional<client::Target> parse_beanstalk_address(std::string_view text);
/// Reads `tcp://[:PASSWORD@]HOST[:PORT]`, or the same with `tcp+tls://`: the forms of FAKTORY_URL.
/// A user before the colon has no effect. In the password, `%XX` is the byte of that number.
[[nodiscard]] std::optional<FaktoryAddress> parse_faktory_address(std::string_view text);

/// The same for each way to write it, and without a password.
[[nodiscard]] std::string beanstalk_name(const client::Target& target);
[[nodiscard]] std::string faktory_name(const FaktoryAddress& address);

[[nodiscard]] Outcome<JobPeer> connect_beanstalk(const client::Target& target);
/// What `stats` tells. A server that answers otherwise is none of beanstalk.
[[nodiscard]] Outcome<client::Stats> ask_beanstalk_stats(JobPeer& peer);
/// Says HELLO, with the password where the server asks for one.
[[nodiscard]] Outcome<JobPeer> connect_faktory(const FaktoryAddress& address);

/// Whether two names of servers, as `beanstalk_name` and `faktory_name` give them, lead to one
/// port, as this machine resolves them now. Asks the resolver, and so may take seconds.
[[nodiscard]] bool lead_to_one_port(std::string_view a, std::string_view b);

}  // namespace millrace::tools
