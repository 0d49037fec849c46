#include "server/relay/web_front.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <iterator>
#include <system_error>

#include "http/kit/head.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {
namespace {

using WebSocket = asio::generic::stream_protocol::socket;

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

struct WebFront::Client {
  WebSocket socket;  ///< not open: it is gone from the list
  Listener::Accepted accepted;
  Time until;
  bool has_begun = false;  ///< to send a request
  Clients::iterator place = {};
};

WebFront::~WebFront() {
  while (!clients_.empty()) retire(*clients_.front());
}

void WebFront::add(Listener::Accepted accepted, Time now) {
  std::error_code problem;
  WebSocket socket(parts_.poller.context());
  socket.assign({AF_UNSPEC, 0}, accepted.descriptor, problem);
  if (problem) return void(::close(accepted.descriptor));
  socket.non_blocking(true, problem);
  Client entry{std::move(socket), std::move(accepted), now + kWebFrontMax};
  // Shared with its handler.
  const auto client = std::make_shared<Client>(std::move(entry));
  client->place = clients_.insert(clients_.end(), client);
  client->socket.async_wait(WebSocket::wait_read, [this, client](const std::error_code&) {
    if (client->socket.is_open()) look(*client);
  });
}

/// What has come of a request is left where it is, so a wait would be over at once: the rest is
/// looked for from time to time.
void WebFront::work(Time now) {
  while (!clients_.empty() && clients_.front()->until <= now) retire(*clients_.front());
  for (auto at = clients_.begin(); at != clients_.end();) {
    Client& client = **at++;
    if (client.has_begun) look(client);
  }
}

void WebFront::look(Client& client) {
  std::array<char, kScreenedBytesMax> room;
  std::error_code problem;
  const std::size_t count =
      client.socket.receive(asio::buffer(room), WebSocket::message_peek, problem);
  client.has_begun = true;
  if (problem == asio::error::would_block) return;
  if (problem) return retire(client);
  const std::string_view seen(room.data(), count);
  const std::string head = http::plain_head(seen);
  const bool has_line = head.find("\r\n") != head.npos;
  const bool is_all = seen.size() == room.size() || has_ended(client.socket.native_handle());
  if (!has_line && !is_all) return;
  const RequestLine line = read_line(head);
  if (const auto text = parts_.answer(line.method, line.path)) {
    if (http::head_bytes(seen) || is_all) answer(client, seen, *text);
    return;
  }
  Listener::Accepted accepted = client.accepted;
  accepted.descriptor = client.socket.release();
  retire(client);
  parts_.pass_on(std::move(accepted));
}

/// A client that is closed with input unread would lose the answer, so what was seen is taken.
void WebFront::answer(Client& client, std::string_view seen, const std::string& text) {
  std::array<char, kScreenedBytesMax> room;
  std::error_code ignored;
  client.socket.receive(asio::buffer(room, seen.size()), 0, ignored);
  client.socket.write_some(asio::buffer(text), ignored);
  retire(client);
}

void WebFront::retire(Client& client) {
  std::error_code ignored;
  client.socket.close(ignored);
  clients_.erase(client.place);
}

}  // namespace millrace::server
