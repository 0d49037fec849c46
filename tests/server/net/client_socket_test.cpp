#include "server/net/client_socket.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "server/process/process.hpp"
#include "server/running_server.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Sanitizers keep freed memory back, so that nothing can be said about how much is in use.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsMemoryTold = false;
#else
constexpr bool kIsMemoryTold = true;
#endif

/// Close to the longest name that a queue may have.
constexpr std::size_t kLongQueueName = 900;

/// Much more than the system's socket buffers take.
constexpr std::size_t kLargeBody = 24'000'000;

std::string put(std::string_view body) {
  return "put 0 0 60 " + std::to_string(body.size()) + "\r\n" + std::string(body) + "\r\n";
}

TEST_CASE("connection: commands of one packet are answered in their order") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  const std::string expected = "USING a\r\nINSERTED 1\r\nUSING b\r\nUNKNOWN_COMMAND\r\n";
  CHECK(client.ask("use a\r\n" + put("x") + "use b\r\nfoo\r\n", expected) == expected);
}

TEST_CASE("connection: a greeting comes unasked") {
  RunningServer running;
  SocketClient client = running.connect("faktory");
  CHECK(client.read(12) == "+HI {\"v\":2}\r");
}

TEST_CASE("connection: a body longer than the receive buffer arrives whole") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  const std::string body(65535, 'x');
  CHECK(client.ask(put(body), "INSERTED 1\r\n") == "INSERTED 1\r\n");
  const std::string expected = "FOUND 1 65535\r\n" + body + "\r\n";
  CHECK(client.ask("peek 1\r\n", expected) == expected);
}

TEST_CASE("connection: what a client waits for wakes it") {
  RunningServer running;
  SocketClient worker = running.connect("beanstalk");
  SocketClient producer = running.connect("beanstalk");
  worker.send("reserve\r\n");
  running.settle();
  producer.send(put("work"));
  CHECK(worker.read(19) == "RESERVED 1 4\r\nwork\r");
}

TEST_CASE("connection: no reply leaves before its records are durable") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  client.send("use a\r\n" + put("x"));
  while (disk.end() == 0) running.settle_turns();
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end() - 1);
  running.settle_turns();
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end());
  CHECK(client.read(21) == "USING a\r\nINSERTED 1\r\n");
}

TEST_CASE("connection: while the disk is far behind, nothing is read") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  const std::string body(60'000, 'x');
  const std::string one = put(body);
  std::string all;
  for (int i = 0; i < 700; ++i) all += one;
  std::string_view rest = all;
  rest.remove_prefix(client.send_what_fits(rest, 200ms));
  CHECK_FALSE(rest.empty());
  running.settle_turns();
  CHECK(disk.end() < kUndurableBytesMax + 2 * one.size());
  while (!rest.empty()) {
    disk.make_durable(disk.end());
    rest.remove_prefix(client.send_what_fits(rest, 20ms));
  }
  while (disk.durable() < 700 * body.size()) disk.make_durable(disk.end());
  CHECK(client.read(12) == "INSERTED 1\r\n");
}

TEST_CASE("connection: while the disk is far behind nothing is executed, and then all get a turn") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient hog = running.connect("faktory");
  std::string flood = "HELLO {\"v\":2}\r\n";
  for (int i = 0; i < 100; ++i) {
    const std::string queue = std::to_string(1000 + i) + std::string(kLongQueueName, 'n');
    flood += R"(PUSH {"jid":"job)" + std::to_string(10000000 + i) +
             R"(","jobtype":"t","args":[],"queue":")" + queue + "\"}\r\n";
  }
  hog.send(flood);
  running.settle_turns();
  disk.make_durable(disk.end());
  // Few bytes that record many: 100 long names each.
  flood.clear();
  for (int i = 0; i < 500; ++i) flood += "QUEUE PAUSE *\r\nQUEUE RESUME *\r\n";
  const Lsn before = disk.durable();
  hog.send(flood);
  while (disk.end() <= before + kUndurableBytesMax) running.settle_turns();
  running.settle_turns();
  const Lsn behind = disk.end();
  CHECK(behind < before + kUndurableBytesMax + 2 * kBatchBytesPause);

  SocketClient bystander = running.connect("beanstalk");
  bystander.send("list-tube-used\r\n");
  running.settle_turns();
  CHECK(disk.end() == behind);
  // The disk catches up a batch at a time, which favours a client that is always ready.
  std::string answer;
  while (answer.empty() && disk.durable() < disk.end()) {
    disk.make_durable(std::min(disk.end(), disk.durable() + kBatchBytesPause));
    running.settle_turns();
    answer = bystander.read_available();
  }
  CHECK(answer == "USING default\r\n");
  CHECK(disk.end() < behind + 2 * kUndurableBytesMax);
}

TEST_CASE("connection: one whose replies leave while the disk is far behind continues later") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  constexpr std::size_t kPeeks = 20;
  std::string commands = put(std::string(60'000, 'x'));
  for (std::size_t i = 0; i < kPeeks; ++i) commands += "peek 1\r\n";
  client.send(commands);
  // More replies wait for the put to be durable than a connection keeps.
  while (disk.end() == 0) running.settle_turns();
  running.settle_turns();
  const Lsn put_end = disk.end();
  SocketClient hog = running.connect("beanstalk");
  while (disk.end() <= kUndurableBytesMax) {
    hog.send(put(std::string(60'000, 'y')));
    running.settle_turns();
  }
  disk.make_durable(put_end);
  running.settle_turns();
  disk.make_durable(disk.end());
  const std::size_t reply_bytes = std::string("FOUND 1 60000\r\n").size() + 60'000 + 2;
  const std::size_t wanted = std::string("INSERTED 1\r\n").size() + kPeeks * reply_bytes;
  CHECK(client.read(wanted).size() == wanted);
}

/// One client has reserved the only job; another will ask for it.
struct Holding {
  RunningServer running;
  SocketClient other = running.connect("beanstalk");
  std::optional<SocketClient> holder = running.connect("beanstalk");

  Holding() {
    const std::string expected = "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n";
    CHECK(holder->ask(put("x") + "reserve\r\n", expected) == expected);
  }
  void check_given_back() {
    CHECK(other.ask("reserve-with-timeout 10\r\n", "RESERVED 1 1\r\nx\r\n") ==
          "RESERVED 1 1\r\nx\r\n");
  }
};

TEST_CASE("connection: closing it gives back what it held") {
  Holding holding;
  holding.holder.reset();
  holding.check_given_back();
}

TEST_CASE("connection: a reset gives back what it held") {
  Holding holding;
  holding.holder->reset();
  holding.check_given_back();
}

TEST_CASE("connection: a reset gives back what it held, though it sent more than is read") {
  Holding holding;
  std::string more = "reserve\r\n";
  while (more.size() < 200'000) more += "list-tube-used\r\n";
  holding.holder->send(more);
  holding.running.settle();
  holding.holder->reset();
  holding.check_given_back();
}

TEST_CASE("connection: a client that closes its sending side gets all answers, then the end") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  client.send(put("x") + "reserve\r\nreserve\r\n");
  client.half_close();
  CHECK(client.read(41) == "INSERTED 1\r\nRESERVED 1 1\r\nx\r\nTIMED_OUT\r\n");
  CHECK(client.is_closed_by_server());
}

TEST_CASE("connection: the last reply arrives although the client sent more than was read") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  client.send("use a\r\nquit\r\n" + std::string(100'000, 'x'));
  CHECK(client.read(9) == "USING a\r\n");
  CHECK(client.is_closed_by_server());
  client.half_close();
  running.wait_for_connections(0);
}

TEST_CASE("connection: a client that does not close after us is left after a second") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  client.send("quit\r\n");
  CHECK(client.is_closed_by_server());
  running.advance(kLingerMax - 1ms);
  CHECK(running.connection_count() == 1);
  running.advance(1ms);
  running.wait_for_connections(0);
}

TEST_CASE("connection: a handshake that takes too long ends without a word") {
  RunningServer running;
  SocketClient client = running.connect("faktory");
  CHECK(client.read(13).starts_with("+HI "));
  running.advance(1999ms);
  CHECK(running.connection_count() == 1);
  running.advance(1ms);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("connection: a client that does not read its replies is not listened to") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  const std::string body(60'000, 'x');
  CHECK(client.ask(put(body), "INSERTED 1\r\n") == "INSERTED 1\r\n");
  // Twenty thousand times 60 kB would be 1.2 GB of replies.
  std::string commands;
  for (int i = 0; i < 20'000; ++i) commands += "peek 1\r\n";
  const std::uint64_t before_mb = used_memory_mb();
  client.send_what_fits(commands, 200ms);
  running.settle();
  if (kIsMemoryTold) CHECK(used_memory_mb() - before_mb < 16);
  // It is well all the same.
  std::size_t read = 0;
  const std::size_t wanted = 1000 * (std::string("FOUND 1 60000\r\n").size() + body.size() + 2);
  while (read < wanted) {
    const std::size_t some = client.read_some().size();
    REQUIRE(some > 0);
    read += some;
  }
}

TEST_CASE(
    "connection: when unread replies take too much, the one that has not read for longest is "
    "dropped") {
  RunningServer::Setup setup;
  setup.options.config.job_bytes_max = kLargeBody;
  setup.options.unsent_bytes_max = kLargeBody;
  RunningServer running(std::move(setup));
  SocketClient deaf = running.connect("beanstalk");
  const std::string body(kLargeBody, 'x');
  CHECK(deaf.ask(put(body), "INSERTED 1\r\n") == "INSERTED 1\r\n");
  deaf.send("peek 1\r\n");
  running.settle();
  running.advance(1s);
  SocketClient slow = running.connect("beanstalk");
  running.wait_for_connections(2);
  slow.send("peek 1\r\n");
  running.wait_for_connections(1);
  CHECK(running.logged().find("slow_readers_dropped connections=1 ") != std::string::npos);
  // It was not the younger one, which gets all of its reply.
  const std::string expected =
      "FOUND 1 " + std::to_string(kLargeBody) + "\r\n" + body + "\r\nUSING b\r\n";
  CHECK(slow.ask("use b\r\n", expected) == expected);
}

TEST_CASE("connection: replies that many ask for at once do not fill the memory") {
  RunningServer::Setup setup;
  setup.options.config.job_bytes_max = kLargeBody;
  setup.options.unsent_bytes_max = kLargeBody;
  RunningServer running(std::move(setup));
  SocketClient producer = running.connect("beanstalk");
  CHECK(producer.ask(put(std::string(kLargeBody, 'x')), "INSERTED 1\r\n") == "INSERTED 1\r\n");
  const std::uint64_t before_mb = used_memory_mb();
  std::vector<SocketClient> deaf;
  for (int i = 0; i < 30; ++i) deaf.push_back(running.connect("beanstalk"));
  for (SocketClient& client : deaf) client.send("peek 1\r\n");
  // Of the 720 MB: what may wait, what a turn may bring, and the reply that takes it beyond.
  constexpr std::uint64_t kMax = 2 * kLargeBody + kTurnOutputBytesMax;
  running.settle();
  if (kIsMemoryTold) CHECK(used_memory_mb() - before_mb < (kMax >> 20) + 16);
  CHECK(producer.ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
}

TEST_CASE("connection: others are served while one does not read") {
  RunningServer running;
  SocketClient deaf = running.connect("beanstalk");
  const std::string body(60'000, 'x');
  deaf.send(put(body));
  std::string commands;
  for (int i = 0; i < 2'000; ++i) commands += "peek 1\r\n";
  deaf.send_what_fits(commands, 100ms);
  SocketClient other = running.connect("beanstalk");
  CHECK(other.ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
}

TEST_CASE("connection: a client that is gone with replies unread is noticed") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  client.send(put(std::string(60'000, 'x')));
  std::string commands;
  for (int i = 0; i < 2'000; ++i) commands += "peek 1\r\n";
  client.send_what_fits(commands, 100ms);
  client.reset();
  running.wait_for_connections(0);
}

TEST_CASE("connection: a thousand clients, and none of them idle holds a buffer") {
  RunningServer running;
  std::vector<SocketClient> clients;
  const std::string body(30'000, 'x');
  const std::uint64_t before_mb = used_memory_mb();
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(running.connect("beanstalk"));
    clients.back().send(put(body) + "reserve\r\n");
  }
  for (SocketClient& client : clients) {
    const std::string answers = client.read(std::string("INSERTED 1\r\nRESERVED ").size());
    REQUIRE(answers.starts_with("INSERTED "));
  }
  CHECK(running.connection_count() == 1000);
  // The bodies alone are 30 MB; a buffer in and a buffer out for each would be 60 MB more.
  if (kIsMemoryTold) CHECK(used_memory_mb() - before_mb < 45);
  clients.clear();
  running.wait_for_connections(0);
}

}  // namespace
}  // namespace millrace::server
