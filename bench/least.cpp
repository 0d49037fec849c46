/// The least that a server can do for a cycle of PUSH, FETCH and ACK: it reads, finds the line's
/// end, keeps the job's text as it came, and answers. No checks, no queues, no journal. What the
/// machine and the load allow a server of one thread, and so what none can pass:
///
///     least --port N

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

constexpr std::string_view kEnd = "\r\n";

std::deque<std::string> jobs;  // the texts of all that were pushed and not fetched

void answer(std::string_view line, std::string& out) {
  if (line.starts_with("PUSH ")) {
    jobs.emplace_back(line.substr(5));
  } else if (line.starts_with("FETCH")) {
    if (jobs.empty()) {
      out += "$-1\r\n";
      return;
    }
    out += '$' + std::to_string(jobs.front().size()) + "\r\n" + jobs.front() + "\r\n";
    jobs.pop_front();
    return;
  }
  out += "+OK\r\n";
}

/// False when the client has gone.
bool serve(int client, std::string& unread) {
  static std::array<char, 65536> buffer;
  const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  unread.append(buffer.data(), static_cast<std::size_t>(got));
  std::string out;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unread.find(kEnd, begin)) != std::string::npos;) {
    answer(std::string_view(unread).substr(begin, end - begin), out);
    begin = end + kEnd.size();
  }
  unread.erase(0, begin);
  return out.empty() || ::send(client, out.data(), out.size(), MSG_NOSIGNAL) > 0;
}

void watch(int poll, int socket) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
  ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
}

void admit(int poll, int listener) {
  const int client = ::accept(listener, nullptr, nullptr);
  const int on = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  constexpr std::string_view kGreeting = "+HI {\"v\":2}\r\n";
  if (::send(client, kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL) > 0) watch(poll, client);
}

int listen_on(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) return -1;
  return ::listen(listener, SOMAXCONN) < 0 ? -1 : listener;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--port") return 2;
  const int listener = listen_on(std::atoi(argv[2]));
  if (listener < 0) return 1;
  const int poll = ::epoll_create1(0);
  watch(poll, listener);
  std::unordered_map<int, std::string> unread;
  std::array<epoll_event, 256> ready;
  for (;;) {
    const int count = ::epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int socket = ready[static_cast<std::size_t>(i)].data.fd;
      if (socket == listener) {
        admit(poll, listener);
      } else if (!serve(socket, unread[socket])) {
        unread.erase(socket);
        ::close(socket);
      }
    }
  }
}
