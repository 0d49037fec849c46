#include "server/import/drain/beanstalk_peer.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

using journal::Descriptor;
using journal::uninterrupted;

constexpr std::string_view kBeanstalkScheme = "beanstalk://";
constexpr timeval kPeerTimeout{.tv_sec = 60, .tv_usec = 0};
constexpr std::size_t kPeerLineBytesMax = 1024;
constexpr std::uint64_t kPeerBodyBytesMax = std::uint64_t{2} << 30;
constexpr std::size_t kShownAnswerBytes = 100;

Descriptor connected_socket(const addrinfo& place) {
  Descriptor socket(::socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC, place.ai_protocol));
  if (!socket.is_open()) return socket;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPeerTimeout, sizeof kPeerTimeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPeerTimeout, sizeof kPeerTimeout);
  if (::connect(socket.get(), place.ai_addr, place.ai_addrlen) == 0) return socket;
  const int error = errno;
  Descriptor none(-1);
  errno = error;
  return none;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string BeanstalkAddress::name() const {
  const bool is_ipv6 = host.find(':') != host.npos;
  return std::string(kBeanstalkScheme) + (is_ipv6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

Outcome<BeanstalkAddress> parse_beanstalk_address(std::string_view text) {
  const Problem odd{"--from: not beanstalk://HOST[:PORT]"};
  if (!text.starts_with(kBeanstalkScheme)) return odd;
  text.remove_prefix(kBeanstalkScheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  BeanstalkAddress address;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return odd;
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    address.host = text.substr(0, text.find(':'));
    port = text.substr(address.host.size());
  }
  if (!port.empty()) {
    const auto number = parse_number<std::uint16_t>(port.substr(1));
    if (port.front() != ':' || !number || *number == 0) return odd;
    address.port = *number;
  }
  const bool is_odd = std::ranges::any_of(
      address.host, [](unsigned char c) { return c <= ' ' || c > '~' || c == '/' || c == '@'; });
  if (address.host.empty() || is_odd) return odd;
  return address;
}

Outcome<BeanstalkPeer> BeanstalkPeer::connect(const BeanstalkAddress& address) {
  const std::string name = address.name();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (failed != 0) return Problem{name + ": " + ::gai_strerror(failed)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(list, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    Descriptor socket = connected_socket(*place);
    if (socket.is_open()) return BeanstalkPeer(std::move(socket), name);
    error = errno;
  }
  return Problem{name + ": no connection: " + std::system_category().message(error)};
}

void BeanstalkPeer::send(std::string_view command) {
  output_ += command;
  output_ += "\r\n";
}

Problem BeanstalkPeer::lost() const {
  return Problem{name_ + ": the connection was lost; run it again"};
}

Problem BeanstalkPeer::odd(std::string_view answer) const {
  return Problem{name_ + ": an odd answer: " + one_line(answer, kShownAnswerBytes)};
}

Outcome<Done> BeanstalkPeer::flush() {
  std::string_view rest = output_;
  while (!rest.empty()) {
    const auto sent = uninterrupted(
        [&] { return ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL); });
    if (sent <= 0) return lost();
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  output_.clear();
  return Done{};
}

Outcome<Done> BeanstalkPeer::receive() {
  if (auto flushed = flush(); !flushed) return flushed;
  input_.erase(0, std::exchange(taken_, 0));
  std::array<char, 65'536> bytes;
  const auto received =
      uninterrupted([&] { return ::recv(socket_.get(), bytes.data(), bytes.size(), 0); });
  if (received <= 0) return lost();
  input_.append(bytes.data(), static_cast<std::size_t>(received));
  return Done{};
}

Outcome<std::string> BeanstalkPeer::line() {
  while (true) {
    const std::size_t end = input_.find("\r\n", taken_);
    if (end != input_.npos) {
      std::string text = input_.substr(taken_, end - taken_);
      taken_ = end + 2;
      return text;
    }
    if (input_.size() - taken_ > kPeerLineBytesMax) return odd(input_.substr(taken_));
    if (auto received = receive(); !received) return received.error();
  }
}

Outcome<std::string> BeanstalkPeer::body(std::string_view line) {
  const auto bytes = parse_number<std::uint64_t>(line.substr(line.rfind(' ') + 1));
  if (!bytes || *bytes > kPeerBodyBytesMax) return odd(line);
  while (input_.size() - taken_ < *bytes + 2) {
    if (auto received = receive(); !received) return received.error();
  }
  std::string text = input_.substr(taken_, *bytes);
  taken_ += *bytes + 2;
  return text;
}

Outcome<std::string> BeanstalkPeer::read_text() {
  auto answer = line();
  if (!answer) return answer;
  return answer->starts_with("OK ") ? body(*answer) : Outcome<std::string>(std::string());
}

std::map<std::string, std::string, std::less<>> parse_stats(std::string_view text) {
  std::map<std::string, std::string, std::less<>> stats;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const std::size_t colon = row.find(": ");
    if (colon == row.npos) continue;
    stats[std::string(row.substr(0, colon))] = unquoted(trimmed(row.substr(colon + 2)));
  }
  return stats;
}

}  // namespace millrace::server
