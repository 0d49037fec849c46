#include "server/net/end_watch.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "server/net/io_thread.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Sockets of two I/O threads, which do not look at them.
struct Watched {
  Log log{[](std::string_view) {}};
  Poller poller;
  IoThread first{poller, log};
  IoThread second{poller, log};
  EndWatch watch;
  int clients[3];
  int sockets[3];

  Watched() {
    for (int i = 0; i < 3; ++i) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
      clients[i] = ends[0];
      sockets[i] = ends[1];
      REQUIRE(watch.add(sockets[i], i < 2 ? first : second));
    }
  }
  ~Watched() {
    for (const int socket : sockets) ::close(socket);
    for (const int client : clients) ::close(client);
  }

  void end(int client) const { REQUIRE(::shutdown(clients[client], SHUT_WR) == 0); }
};

using Threads = std::vector<IoThread*>;

}  // namespace

TEST_CASE("end watch: input tells nothing, an end is told once, each thread once") {
  Watched all;
  REQUIRE(::send(all.clients[0], "x", 1, 0) == 1);
  CHECK(all.watch.take().empty());
  all.end(0);
  all.end(1);
  CHECK(all.watch.take() == Threads{&all.first});
  CHECK(all.watch.take().empty());
  all.end(2);
  CHECK(all.watch.take() == Threads{&all.second});
}

TEST_CASE("end watch: what is no socket cannot be watched") {
  Watched all;
  CHECK_FALSE(all.watch.add(-1, all.first));
}

TEST_CASE("end watch: one that was removed is not told") {
  Watched all;
  all.watch.remove(all.sockets[0]);
  all.end(0);
  CHECK(all.watch.take().empty());
}

}  // namespace millrace::server
