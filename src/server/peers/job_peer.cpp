#include "server/import/drain/beanstalk_peer.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

constexpr std::string_view kBeanstalkScheme = "beanstalk://";
constexpr std::size_t kPeerLineBytesMax = 1024;
constexpr std::uint64_t kPeerBodyBytesMax = std::uint64_t{2} << 30;
constexpr std::size_t kShownAnswerBytes = 100;

}  // namespace

std::string name_of(const client::Target& address) {
  return std::string(kBeanstalkScheme) + address.text();
}

Outcome<client::Target> parse_beanstalk_address(std::string_view text) {
  const Problem odd{"--from: not beanstalk://HOST[:PORT]"};
  if (!text.starts_with(kBeanstalkScheme)) return odd;
  auto address = client::parse_target(text);
  if (!address) return odd;
  const bool is_odd =
      std::ranges::any_of(address->host, [](unsigned char c) { return c <= ' ' || c > '~'; });
  return is_odd ? Outcome<client::Target>(odd) : address;
}

Outcome<BeanstalkPeer> BeanstalkPeer::connect(const client::Target& address) {
  // A server that goes is an answer that is missing, and ends no import.
  std::signal(SIGPIPE, SIG_IGN);
  auto connection = client::Connection::open(address);
  const std::string name = name_of(address);
  if (!connection) return Problem{name + ": no connection: " + connection.error().why};
  return BeanstalkPeer(std::move(*connection), name);
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
  const auto sent = connection_.send(output_);
  output_.clear();
  if (!sent) return lost();
  return Done{};
}

Outcome<std::string> BeanstalkPeer::line() {
  if (auto flushed = flush(); !flushed) return flushed.error();
  auto text = connection_.line();
  if (!text) return lost();
  if (text->size() > kPeerLineBytesMax) return odd(*text);
  return std::move(*text);
}

Outcome<std::string> BeanstalkPeer::body(std::string_view line) {
  const auto bytes = parse_number<std::uint64_t>(line.substr(line.rfind(' ') + 1));
  if (!bytes || *bytes > kPeerBodyBytesMax) return odd(line);
  auto text = connection_.body(*bytes);
  if (!text) return lost();
  return std::move(*text);
}

Outcome<std::string> BeanstalkPeer::read_text() {
  auto answer = line();
  if (!answer) return answer;
  return answer->starts_with("OK ") ? body(*answer) : Outcome<std::string>(std::string());
}

}  // namespace millrace::server
