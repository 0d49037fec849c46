#include "tools/peers/job_peer.hpp"

#include <csignal>
#include <cstdint>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::tools {
namespace {

constexpr std::size_t kPeerLineBytesMax = 1024;
constexpr std::uint64_t kPeerBodyBytesMax = std::uint64_t{2} << 30;
constexpr std::size_t kShownAnswerBytes = 100;

}  // namespace

Outcome<JobPeer> JobPeer::connect(const client::Target& address, std::string name) {
  // A server that goes is an answer that is missing, and ends no program.
  std::signal(SIGPIPE, SIG_IGN);
  auto connection = client::Connection::open(address);
  if (!connection) return Problem{name + ": no connection: " + connection.error().why};
  return JobPeer(std::move(*connection), std::move(name));
}

void JobPeer::send(std::string_view command) {
  output_ += command;
  output_ += "\r\n";
}

Problem JobPeer::lost() const {
  return Problem{name_ + ": the connection was lost; run it again"};
}

Problem JobPeer::odd(std::string_view answer) const {
  return Problem{name_ + ": an odd answer: " + one_line(answer, kShownAnswerBytes)};
}

Outcome<Done> JobPeer::flush() {
  const auto sent = connection_.send(output_);
  output_.clear();
  if (!sent) return lost();
  return Done{};
}

Outcome<std::string> JobPeer::line() {
  if (auto flushed = flush(); !flushed) return flushed.error();
  return checked(connection_.line());
}

Outcome<std::string> JobPeer::greeting() {
  return checked(connection_.greeting());
}

Outcome<std::string> JobPeer::checked(client::Reply<std::string> text) const {
  if (!text && !text.error().why.empty()) return Problem{name_ + ": " + text.error().why};
  if (!text) return lost();
  if (text->size() > kPeerLineBytesMax) return odd(*text);
  return std::move(*text);
}

Outcome<std::string> JobPeer::body(std::string_view line) {
  const auto bytes = parse_number<std::uint64_t>(line.substr(line.rfind(' ') + 1));
  if (!bytes || *bytes > kPeerBodyBytesMax) return odd(line);
  auto text = connection_.body(*bytes);
  if (!text) return lost();
  return std::move(*text);
}

Outcome<std::string> JobPeer::bulk(std::string_view line) {
  if (!line.starts_with('$')) return odd(line);
  return body(line.substr(1));
}

Outcome<std::string> JobPeer::read_text() {
  auto answer = line();
  if (!answer) return answer;
  return answer->starts_with("OK ") ? body(*answer) : Outcome<std::string>(std::string());
}

}  // namespace millrace::tools
