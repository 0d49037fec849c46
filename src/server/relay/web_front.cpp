#include "server/relay/web_front.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <string>

#include "http/kit/head.hpp"

namespace millrace::server {
namespace {

struct RequestLine {
  std::string_view method;
  std::string_view path;
};

///     request-line = method " " path [ "?" query ] " " version CR LF
RequestLine read_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t method_end = line.find(' ');
  if (method_end == line.npos) return {};
  std::string_view target = line.substr(method_end + 1);
  target = target.substr(0, target.find(' '));
  return {.method = line.substr(0, method_end), .path = target.substr(0, target.find('?'))};
}

}  // namespace

int WebFront::Client::release() {
  front.parts_.poller.forget(accepted.descriptor, *this);
  return std::exchange(accepted.descriptor, -1);
}

void WebFront::Client::close() {
  if (accepted.descriptor >= 0) ::close(release());
}

void WebFront::add(Listener::Accepted accepted, Time now) {
  clients_.emplace_back(*this, std::move(accepted), now + kWebFrontMax);
  Client& client = clients_.back();
  client.place = std::prev(clients_.end());
  if (!parts_.poller.watch(client.accepted.descriptor, client)) retire(client);
}

void WebFront::work(Time now) {
  over_.clear();
  while (!clients_.empty() && clients_.front().until <= now) clients_.pop_front();
}

void WebFront::look(Client& client, bool is_over) {
  if (client.accepted.descriptor < 0) return;
  std::array<char, kScreenedBytesMax> room;
  const ssize_t count = ::recv(client.accepted.descriptor, room.data(), room.size(), MSG_PEEK);
  if (count <= 0) {
    if (is_over || count == 0) retire(client);
    return;
  }
  const std::string_view seen(room.data(), static_cast<std::size_t>(count));
  const std::string head = http::plain_head(seen);
  const bool has_line = head.find("\r\n") != head.npos;
  const bool is_all = is_over || seen.size() == room.size();
  if (!has_line && !is_all) return;
  const RequestLine line = read_line(head);
  if (const auto text = parts_.answer(line.method, line.path)) {
    if (http::head_bytes(seen) || is_all) answer(client, seen, *text);
    return;
  }
  Listener::Accepted accepted = client.accepted;
  accepted.descriptor = client.release();
  retire(client);
  parts_.pass_on(std::move(accepted));
}

/// A client that is closed with input unread would lose the answer, so what was seen is taken.
void WebFront::answer(Client& client, std::string_view seen, const std::string& text) {
  std::array<char, kScreenedBytesMax> room;
  (void)::recv(client.accepted.descriptor, room.data(), seen.size(), 0);
  (void)::send(client.accepted.descriptor, text.data(), text.size(), MSG_NOSIGNAL);
  retire(client);
}

/// It may be at work, so it is destroyed later.
void WebFront::retire(Client& client) {
  client.close();
  over_.splice(over_.end(), clients_, client.place);
}

}  // namespace millrace::server
