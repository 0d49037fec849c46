// A closed-loop load generator for both doors: each connection has one command in flight. Prints
// the operations per second and, when it is told the server's pid, the server's CPU time per
// operation.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <asio.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using Tcp = asio::ip::tcp;

struct Plan {
  std::string work = "put";
  std::uint16_t port = 11300;
  std::size_t connections = 50;
  std::size_t operations = 200'000;
  std::size_t body_bytes = 128;
  int server_pid = 0;
};

/// A client that works off its share of the operations.
class Client {
 public:
  Client(asio::io_context& loop, const Plan& plan, std::size_t number)
      : plan_(plan), number_(number), socket_(loop) {}

  asio::awaitable<void> run(std::size_t operations) {
    co_await socket_.async_connect({asio::ip::address_v4::loopback(), plan_.port},
                                   asio::use_awaitable);
    socket_.set_option(Tcp::no_delay(true));
    if (is_faktory()) co_await greet();
    for (std::size_t i = 0; i < operations; ++i) {
      if (plan_.work == "put") co_await put();
      if (plan_.work == "put-cycle") co_await put_cycle();
      if (plan_.work == "push") co_await push(i);
      if (plan_.work == "push-cycle") co_await push_cycle(i);
    }
  }

 private:
  [[nodiscard]] bool is_faktory() const { return plan_.work.starts_with("push"); }

  asio::awaitable<void> greet() {
    co_await read_line();
    co_await say("HELLO {\"v\":2}\r\n");
    expect(co_await read_line(), "+OK");
  }

  asio::awaitable<void> put() {
    co_await say("put 0 0 60 " + std::to_string(plan_.body_bytes) + "\r\n" +
                 std::string(plan_.body_bytes, 'x') + "\r\n");
    expect(co_await read_line(), "INSERTED");
  }

  asio::awaitable<void> put_cycle() {
    co_await put();
    co_await say("reserve\r\n");
    const std::string reserved = co_await read_line();
    expect(reserved, "RESERVED");
    co_await read_line();
    const std::size_t id_end = reserved.find(' ', 9);
    co_await say("delete " + reserved.substr(9, id_end - 9) + "\r\n");
    expect(co_await read_line(), "DELETED");
  }

  asio::awaitable<void> push(std::size_t i) {
    const std::string jid = "job-" + std::to_string(number_) + "-" + std::to_string(i) + "-abcdef";
    co_await say("PUSH {\"jid\":\"" + jid + "\",\"jobtype\":\"SomeJob\",\"args\":[\"" +
                 std::string(plan_.body_bytes, 'x') + "\"],\"queue\":\"default\"}\r\n");
    expect(co_await read_line(), "+OK");
  }

  asio::awaitable<void> push_cycle(std::size_t i) {
    co_await push(i);
    co_await say("FETCH default\r\n");
    expect(co_await read_line(), "$");
    const std::string job = co_await read_line();
    const std::size_t begin = job.find("\"jid\":\"") + 7;
    const std::string jid = job.substr(begin, job.find('"', begin) - begin);
    co_await say("ACK {\"jid\":\"" + jid + "\"}\r\n");
    expect(co_await read_line(), "+OK");
  }

  asio::awaitable<void> say(std::string text) {
    co_await asio::async_write(socket_, asio::buffer(text), asio::use_awaitable);
  }

  asio::awaitable<std::string> read_line() {
    const std::size_t size = co_await asio::async_read_until(socket_, asio::dynamic_buffer(input_),
                                                             "\r\n", asio::use_awaitable);
    std::string line = input_.substr(0, size - 2);
    input_.erase(0, size);
    co_return line;
  }

  static void expect(const std::string& line, const char* beginning) {
    if (!line.starts_with(beginning)) throw std::runtime_error("unexpected reply: " + line);
  }

  const Plan& plan_;
  std::size_t number_;
  Tcp::socket socket_;
  std::string input_;
};

/// User and system time of a process in seconds (proc(5), fields 14 and 15 of `stat`).
double cpu_seconds(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  double ticks = 0;
  for (int i = 1; i <= 15 && file >> field; ++i) {
    if (i >= 14) ticks += std::stod(field);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void work(const Plan& plan) {
  asio::io_context loop(1);
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < plan.connections; ++i) {
    clients.push_back(std::make_unique<Client>(loop, plan, i));
    asio::co_spawn(loop, clients.back()->run(plan.operations / plan.connections),
                   [](const std::exception_ptr& failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
  }
  const double cpu_before = plan.server_pid != 0 ? cpu_seconds(plan.server_pid) : 0;
  const auto begin = std::chrono::steady_clock::now();
  loop.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const auto done = static_cast<double>(plan.operations / plan.connections * plan.connections);
  std::printf("%s: %.0f operations, %zu connections: %.0f/s", plan.work.c_str(), done,
              plan.connections, done / took.count());
  if (plan.server_pid != 0) {
    std::printf(", server CPU %.2f us each",
                1e6 * (cpu_seconds(plan.server_pid) - cpu_before) / done);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  CLI::App app("Load for one door of a running server, one command in flight per connection");
  app.add_option("--work", plan.work, "put, put-cycle, push or push-cycle")
      ->check(CLI::IsMember({"put", "put-cycle", "push", "push-cycle"}));
  app.add_option("--port", plan.port, "of the door, on 127.0.0.1");
  app.add_option("--connections", plan.connections);
  app.add_option("--operations", plan.operations, "all connections together");
  app.add_option("--body-bytes", plan.body_bytes);
  app.add_option("--server-pid", plan.server_pid, "to tell its CPU time");
  CLI11_PARSE(app, argc, argv);
  try {
    work(plan);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "load: %s\n", failure.what());
    return 1;
  }
  return 0;
}
