#include "tools/peers/peer_addresses.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/auth.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kBeanstalkScheme = "beanstalk://";
constexpr std::string_view kTcpScheme = "tcp://";
constexpr std::string_view kTcpTlsScheme = "tcp+tls://";
/// Far more than any server asks for.
constexpr std::int64_t kIterationsWantedMax = 10'000'000;

bool is_plain_host(std::string_view host) {
  return std::ranges::none_of(host, [](unsigned char c) { return c <= ' ' || c > '~'; });
}

/// What HI asks for; nullopt: it is no HI.
std::optional<faktory::Challenge> read_challenge(std::string_view line) {
  constexpr std::string_view kHi = "+HI ";
  if (!line.starts_with(kHi)) return std::nullopt;
  std::int64_t iterations = 1;
  faktory::Challenge challenge;
  const auto take = [&](std::string_view name, const faktory::MemberValue& value) {
    if (name == "s") return faktory::take_text(value, challenge.salt);
    return name != "i" || faktory::take_integer(value, iterations);
  };
  const auto shape = faktory::read_object(line.substr(kHi.size()), take);
  if (shape != faktory::ObjectShape::kObject) return std::nullopt;
  if (iterations < 1 || iterations > kIterationsWantedMax) return std::nullopt;
  challenge.iterations = static_cast<std::uint32_t>(iterations);
  return challenge;
}

std::string hello_to(const faktory::Challenge& challenge, const std::string& password) {
  if (challenge.salt.empty()) return R"(HELLO {"v":2})";
  faktory::PasswordHash hash(password, challenge);
  (void)hash.work(challenge.iterations);
  return R"(HELLO {"v":2,"pwdhash":")" + hash.text() + R"("})";
}

std::optional<client::Target> target_of(std::string_view name) {
  if (auto target = parse_beanstalk_address(name)) return target;
  const auto address = parse_faktory_address(name);
  return address ? std::optional(address->target) : std::nullopt;
}

/// An address of IPv4 that is written as one of IPv6.
constexpr std::string_view kMapped = "::ffff:";

/// In numbers. Empty: the name is not known.
std::set<std::string> places_of(const client::Target& target) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(target.host.c_str(), nullptr, &wanted, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  std::set<std::string> places;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    std::string host(NI_MAXHOST, '\0');
    const int named =
        ::getnameinfo(each->ai_addr, each->ai_addrlen, host.data(),
                      static_cast<socklen_t>(host.size()), nullptr, 0, NI_NUMERICHOST);
    if (named != 0) continue;
    host.resize(host.find('\0'));
    places.insert(host.starts_with(kMapped) ? host.substr(kMapped.size()) : host);
  }
  return places;
}

}  // namespace

std::optional<client::Target> parse_beanstalk_address(std::string_view text) {
  if (!text.starts_with(kBeanstalkScheme)) return std::nullopt;
  auto target = client::parse_target(text);
  if (!target || !is_plain_host(target->host)) return std::nullopt;
  return *target;
}

std::optional<FaktoryAddress> parse_faktory_address(std::string_view text) {
  const bool is_tls = text.starts_with(kTcpTlsScheme);
  if (!is_tls && !text.starts_with(kTcpScheme)) return std::nullopt;
  text.remove_prefix(is_tls ? kTcpTlsScheme.size() : kTcpScheme.size());
  FaktoryAddress address;
  // A password that was not encoded may have an `@`.
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    const std::size_t colon = std::min(text.find(':'), at);
    auto password = percent_decoded(text.substr(colon, at - colon).substr(colon < at ? 1 : 0));
    if (!password) return std::nullopt;
    address.password = std::move(*password);
    text.remove_prefix(at + 1);
  }
  if (text.find("://") != text.npos || text.starts_with("unix:")) return std::nullopt;
  auto target = client::parse_target(text);
  if (!target || !is_plain_host(target->host)) return std::nullopt;
  address.target = std::move(*target);
  address.target.is_tls = is_tls;
  // parse_target is of the other protocol.
  const bool has_port = !text.ends_with(']') && text.find(':') != text.npos;
  if (!has_port) address.target.port = kFaktoryPort;
  return address;
}

std::string beanstalk_name(const client::Target& target) {
  return std::string(kBeanstalkScheme) + target.text();
}

std::string faktory_name(const FaktoryAddress& address) {
  return std::string(address.target.is_tls ? kTcpTlsScheme : kTcpScheme) + address.target.text();
}

Outcome<JobPeer> connect_beanstalk(const client::Target& target) {
  return JobPeer::connect(target, beanstalk_name(target));
}

Outcome<client::Stats> ask_beanstalk_stats(JobPeer& peer) {
  const auto answer = peer.ask("stats");
  if (!answer) return answer.error();
  if (!answer->starts_with("OK ")) {
    return Problem{peer.name() + " is not a beanstalk port; it says " + one_line(*answer, 60)};
  }
  const auto text = peer.body(*answer);
  if (!text) return text.error();
  auto stats = client::parse_stats(*text);
  if (!stats.contains("current-jobs-reserved")) return peer.odd(*text);
  return stats;
}

Outcome<JobPeer> connect_faktory(const FaktoryAddress& address) {
  auto peer = JobPeer::connect(address.target, faktory_name(address));
  if (!peer) return peer;
  const auto greeting = peer->greeting();
  if (!greeting) {
    const bool is_plain = !address.target.is_tls;
    return Problem{peer->name() +
                   " is not a Faktory port: it does not greet; the URL of a beanstalkd "
                   "begins with beanstalk://" +
                   (is_plain ? ", that of a Faktory with TLS with tcp+tls://" : "")};
  }
  const auto challenge = read_challenge(*greeting);
  if (!challenge) {
    return Problem{peer->name() + " is not a Faktory port; it says " + one_line(*greeting, 60)};
  }
  if (!challenge->salt.empty() && address.password.empty()) {
    return Problem{peer->name() + " asks for a password"};
  }
  const auto answer = peer->ask(hello_to(*challenge, address.password));
  // It closes the connection of a client whose password is wrong.
  if (!answer || !answer->starts_with("+OK")) {
    return Problem{peer->name() + " refuses the password, or serves no more clients"};
  }
  return peer;
}

bool lead_to_one_port(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = target_of(a);
  const auto right = target_of(b);
  if (!left || !right || left->port != right->port) return false;
  const std::set<std::string> places = places_of(*left);
  for (const std::string& place : places_of(*right)) {
    if (places.contains(place)) return true;
  }
  return false;
}

}  // namespace millrace::tools
