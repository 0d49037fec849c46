#include "generator.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace bench::test {

/// A beanstalk server for one connection, which asks `keeps` whether it keeps the job of a put.
class Tube {
 public:
  explicit Tube(std::function<bool(int put)> keeps) : keeps_(std::move(keeps)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_, name(), sizeof address_) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    socklen_t size = sizeof address_;
    ::getsockname(listener_, name(), &size);
    thread_ = std::thread([this] { serve(); });
  }
  ~Tube() {
    thread_.join();
    ::close(listener_);
  }
  Tube(const Tube&) = delete;
  Tube& operator=(const Tube&) = delete;

  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  sockaddr* name() { return reinterpret_cast<sockaddr*>(&address_); }

  /// Until the client has gone.
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    std::string unread;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::recv(client, buffer.data(), buffer.size(), 0)) > 0;) {
      unread.append(buffer.data(), static_cast<std::size_t>(size));
      std::string replies;
      for (std::size_t end = 0; (end = unread.find("\r\n")) != std::string::npos;) {
        replies += reply_to(unread.substr(0, end));
        unread.erase(0, end + 2);
      }
      ::send(client, replies.data(), replies.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }

  std::string reply_to(const std::string& line) {
    if (is_body_) {
      is_body_ = false;
      if (keeps_(++puts_)) jobs_.push_back(line);
      return "INSERTED 1\r\n";
    }
    is_body_ = line.starts_with("put ");
    if (is_body_) return {};
    if (line.starts_with("delete ")) return "DELETED\r\n";
    if (line.starts_with("use ")) return "USING " + line.substr(4) + "\r\n";
    if (!line.starts_with("reserve")) return "WATCHING 1\r\n";
    if (jobs_.empty()) return "TIMED_OUT\r\n";
    const std::string job = jobs_.front();
    jobs_.pop_front();
    return "RESERVED 1 " + std::to_string(job.size()) + "\r\n" + job + "\r\n";
  }

  std::function<bool(int)> keeps_;
  int listener_ = -1;
  sockaddr_in address_{};
  bool is_body_ = false;
  int puts_ = 0;
  std::deque<std::string> jobs_;
  std::thread thread_;
};

Plan plan_for(const Tube& tube) {
  return {.works = {"put"},
          .port = tube.port(),
          .connections = 1,
          .operations = 10,
          .is_draining = true};
}

TEST_CASE("drain: all that was put is taken") {
  Tube tube([](int) { return true; });
  const Plan plan = plan_for(tube);
  Generator generator(plan);
  generator.connect();
  generator.run();
  generator.drain();
  CHECK(generator.done() == 10);
  CHECK(generator.deliveries().came() == 10);
  CHECK(generator.latencies().count() == 10);
  CHECK(generator.replies().count() == 10);
}

TEST_CASE("drain: what is measured ends before it") {
  Tube tube([](int) { return true; });
  const Plan plan = plan_for(tube);
  Generator generator(plan);
  generator.connect();
  generator.run();
  const double seconds = generator.seconds();
  CHECK(generator.deliveries().came() == 0);
  generator.drain();
  CHECK(generator.deliveries().came() == 10);
  CHECK(generator.seconds() == seconds);
}

TEST_CASE("drain: a job that is lost is noticed") {
  Tube tube([](int put) { return put != 3; });
  const Plan plan = plan_for(tube);
  Generator generator(plan);
  generator.connect();
  generator.run();
  CHECK_THROWS_WITH_AS(generator.drain(), "10 jobs were put, and 9 came", std::runtime_error);
}

TEST_CASE("latencies are counted anew when that is asked for") {
  std::atomic<Generator*> generator = nullptr;
  Tube tube([&generator](int put) {
    if (put == 6) generator.load()->forget();
    return true;
  });
  const Plan plan = plan_for(tube);
  Generator forgetting(plan);
  generator = &forgetting;
  forgetting.connect();
  forgetting.run();
  CHECK(forgetting.done() == 10);
  CHECK(forgetting.latencies().count() >= 4);
  CHECK(forgetting.latencies().count() <= 5);
}

TEST_CASE("a generator that was told to finish ends, and the next one is not concerned") {
  for (const bool is_told : {true, false}) {
    CAPTURE(is_told);
    Tube tube([](int) { return true; });
    const Plan plan = plan_for(tube);
    Generator generator(plan);
    if (is_told) generator.finish();
    generator.connect();
    generator.run();
    CHECK(generator.done() == (is_told ? 0 : 10));
  }
}

}  // namespace bench::test
