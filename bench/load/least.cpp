/// The least that a server can do for a job: it reads, finds the line's end, keeps the job's text
/// as it came, and answers. No checks, no queues, no journal. It shows the limit that the machine
/// and the load set for a server of one thread. It speaks PUSH, FETCH and ACK, or with --beanstalk
/// put, reserve and delete, where bodies have no line end:
///
///     least --port N [--beanstalk]

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
#include <utility>

namespace {

constexpr std::string_view kEnd = "\r\n";

std::deque<std::string> jobs;  // the texts of all that were put and not taken
std::size_t jobs_taken = 0;

struct Client {
  std::string unread;
  bool is_body_next = false;
};

void answer_faktory(Client&, std::string_view line, std::string& out) {
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

void answer_beanstalk(Client& client, std::string_view line, std::string& out) {
  if (std::exchange(client.is_body_next, false)) {
    jobs.emplace_back(line);
    out += "INSERTED " + std::to_string(jobs_taken + jobs.size()) + "\r\n";
  } else if (line.starts_with("put ")) {
    client.is_body_next = true;
  } else if (line.starts_with("reserve")) {
    if (jobs.empty()) {
      out += "TIMED_OUT\r\n";
      return;
    }
    out += "RESERVED " + std::to_string(++jobs_taken) + ' ' + std::to_string(jobs.front().size()) +
           "\r\n" + jobs.front() + "\r\n";
    jobs.pop_front();
  } else if (line.starts_with("use ")) {
    out.append("USING ").append(line.substr(4)).append("\r\n");
  } else {
    out += line.starts_with("delete ") ? "DELETED\r\n" : "WATCHING 1\r\n";
  }
}

struct Protocol {
  std::string_view greeting;
  void (*answer)(Client& client, std::string_view line, std::string& out);
};
constexpr Protocol kFaktory{"+HI {\"v\":2}\r\n", answer_faktory};
constexpr Protocol kBeanstalk{"", answer_beanstalk};

/// False when the client has gone.
bool serve(const Protocol& protocol, int socket, Client& client) {
  static std::array<char, 65536> buffer;
  const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  client.unread.append(buffer.data(), static_cast<std::size_t>(got));
  std::string out;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = client.unread.find(kEnd, begin)) != std::string::npos;) {
    protocol.answer(client, std::string_view(client.unread).substr(begin, end - begin), out);
    begin = end + kEnd.size();
  }
  client.unread.erase(0, begin);
  return out.empty() || ::send(socket, out.data(), out.size(), MSG_NOSIGNAL) > 0;
}

void watch(int poll, int socket) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
  ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
}

void admit(const Protocol& protocol, int poll, int listener) {
  const int client = ::accept(listener, nullptr, nullptr);
  const int on = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::string_view greeting = protocol.greeting;
  const bool is_greeted =
      greeting.empty() || ::send(client, greeting.data(), greeting.size(), MSG_NOSIGNAL) > 0;
  if (is_greeted) watch(poll, client);
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
  const bool is_beanstalk = argc == 4 && std::string_view(argv[3]) == "--beanstalk";
  if ((argc != 3 && !is_beanstalk) || std::string_view(argv[1]) != "--port") return 2;
  const Protocol& protocol = is_beanstalk ? kBeanstalk : kFaktory;
  const int listener = listen_on(std::atoi(argv[2]));
  if (listener < 0) return 1;
  const int poll = ::epoll_create1(0);
  watch(poll, listener);
  std::unordered_map<int, Client> clients;
  std::array<epoll_event, 256> ready;
  for (;;) {
    const int count = ::epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int socket = ready[static_cast<std::size_t>(i)].data.fd;
      if (socket == listener) {
        admit(protocol, poll, listener);
      } else if (!serve(protocol, socket, clients[socket])) {
        clients.erase(socket);
        ::close(socket);
      }
    }
  }
}
