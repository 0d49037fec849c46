#include "generator.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

constexpr std::size_t kReceiveBytes = 256 * 1024;
constexpr int kEvents = 256;
constexpr std::chrono::seconds kPatience{30};

/// Sooner than this no sleep ends in time.
constexpr std::chrono::microseconds kSleepMin{100};
constexpr std::chrono::seconds kSleepMax{1};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Generator::Generator(const Plan& plan) : plan_(plan), deliveries_(plan), buffer_(kReceiveBytes) {
  set_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (set_ < 0) fail("epoll_create1");
}

Generator::~Generator() {
  for (const auto& connection : connections_) ::close(connection->descriptor);
  ::close(set_);
}

double Generator::seconds() const {
  return std::chrono::duration<double>(end_ - start_).count();
}

// ---- connecting ---------------------------------------------------------------------------------

void Generator::connect() {
  for (std::size_t i = 0; i < plan_.connections; ++i) open(i);
  progress_ = Clock::now();
  while (greeting_ > 0) wait(kSleepMax);
}

void Generator::open(std::size_t number) {
  auto connection = std::make_unique<Connection>();
  connection->descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection->descriptor < 0) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(plan_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(connection->descriptor, name, sizeof address) != 0) fail("connect");
  const int on = 1;
  ::setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = connection.get();
  if (::epoll_ctl(set_, EPOLL_CTL_ADD, connection->descriptor, &event) != 0) fail("epoll_ctl");
  connection->dialogue = make_dialogue(plan_, number, deliveries_);
  std::string hello;
  connection->greetings = connection->dialogue->greet(hello);
  ++greeting_;
  say(*connection, hello);
  connections_.push_back(std::move(connection));
}

// ---- working ------------------------------------------------------------------------------------

void Generator::run() {
  start_ = end_ = progress_ = Clock::now();
  for (const auto& connection : connections_) {
    if (plan_.rate > 0) {
      idle_.push_back(connection.get());
    } else {
      begin_next(*connection);
    }
  }
  while (!is_over()) {
    forget_if_told();
    if (plan_.rate > 0) begin_what_is_due();
    wait(time_to_next());
  }
  end_ = Clock::now();
}

void Generator::forget_if_told() {
  if (!is_forgetting_.exchange(false)) return;
  latencies_ = {};
  replies_ = {};
}

/// Time may be up while commands are in flight: their replies are awaited.
bool Generator::is_over() const {
  if (is_time_up()) return done_ == begun_;
  return plan_.seconds == 0 && done_ >= plan_.operations;
}

bool Generator::is_time_up() const {
  if (is_finishing_) return true;
  return plan_.seconds > 0 &&
         std::chrono::duration<double>(Clock::now() - start_).count() >= plan_.seconds;
}

bool Generator::is_to_be_drained() const {
  const auto is_cycle = [](const std::string& work) { return work.ends_with("cycle"); };
  return plan_.is_draining || std::ranges::all_of(plan_.works, is_cycle);
}

void Generator::drain() {
  if (!is_to_be_drained()) return;
  progress_ = Clock::now();
  draining_ = connections_.size();
  for (const auto& connection : connections_) {
    output_.clear();
    connection->dialogue->drain(output_);
    connection->in_flight = 1;
    say(*connection, output_);
  }
  while (draining_ > 0) wait(kSleepMax);
  if (deliveries_.came() == deliveries_.given()) return;
  throw std::runtime_error(std::to_string(deliveries_.given()) + " jobs were put, and " +
                           std::to_string(deliveries_.came()) + " came");
}

Generator::Clock::time_point Generator::next_due() const {
  const std::chrono::duration<double> offset(static_cast<double>(begun_) /
                                             static_cast<double>(plan_.rate));
  return start_ + std::chrono::duration_cast<Clock::duration>(offset);
}

Generator::Clock::duration Generator::time_to_next() const {
  if (plan_.rate == 0 || idle_.empty()) return kSleepMax;
  const Clock::duration left = next_due() - Clock::now();
  if (left < kSleepMin) return {};
  return std::min<Clock::duration>(left - kSleepMin, kSleepMax);
}

void Generator::begin_what_is_due() {
  const Clock::time_point now = Clock::now();
  while (!idle_.empty()) {
    const Clock::time_point due = next_due();
    if (due > now || is_over()) return;
    Connection& connection = *idle_.front();
    idle_.pop_front();
    // From when it should have begun: a server that makes us late has that counted against it.
    begin(connection, due);
  }
}

void Generator::begin_next(Connection& connection) {
  if (plan_.rate > 0) {
    idle_.push_back(&connection);
  } else {
    begin(connection, Clock::now());
  }
}

void Generator::begin(Connection& connection, Clock::time_point at) {
  if (is_time_up()) return;
  output_.clear();
  std::size_t count = plan_.depth;
  if (plan_.seconds == 0) count = std::min(count, plan_.operations - begun_);
  if (count == 0) return;
  if (begun_ == done_) progress_ = Clock::now();
  connection.dialogue->begin(count, output_);
  begun_ += count;
  connection.operations = connection.in_flight = count;
  connection.begun = connection.asked = at;
  say(connection, output_);
}

void Generator::wait(Clock::duration most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (most - seconds).count()};
  std::array<epoll_event, kEvents> events{};
  const int count = ::epoll_pwait2(set_, events.data(), kEvents, &timeout, nullptr);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2");
  const bool is_waiting = greeting_ > 0 || done_ < begun_ || draining_ > 0;
  if (is_waiting && Clock::now() - progress_ > kPatience) {
    throw std::runtime_error("nothing is done: a job is lost, or the server does not answer");
  }
  for (int i = 0; i < count; ++i) {
    receive(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr));
  }
}

void Generator::receive(Connection& connection) {
  const ssize_t size = ::recv(connection.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) throw std::runtime_error("the server has closed the connection");
  connection.input.append(buffer_.data(), static_cast<std::size_t>(size));
  take_replies(connection);
}

void Generator::take_replies(Connection& connection) {
  std::string_view input = connection.input;
  while (!input.empty()) {
    if (connection.greetings > 0) {
      const std::size_t size = connection.dialogue->answer_greeting(input);
      if (size == 0) break;
      input.remove_prefix(size);
      if (--connection.greetings == 0) --greeting_;
      continue;
    }
    if (connection.in_flight == 0) throw std::runtime_error("a reply to nothing");
    const std::size_t size = connection.dialogue->answer(input);
    if (size == 0) break;
    input.remove_prefix(size);
    --connection.in_flight;
    note_reply(connection);
    if (connection.in_flight == 0) go_on(connection);
  }
  connection.input.erase(0, connection.input.size() - input.size());
}

void Generator::go_on(Connection& connection) {
  output_.clear();
  connection.in_flight = connection.dialogue->go_on(output_);
  const Clock::time_point now = Clock::now();
  if (connection.in_flight > 0) {
    connection.asked = now;
    if (draining_ > 0) progress_ = now;
    say(connection, output_);
    return;
  }
  if (draining_ > 0) {
    --draining_;
    return;
  }
  done_ += connection.operations;
  progress_ = now;
  latencies_.add(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - connection.begun).count()));
  begin_next(connection);
}

void Generator::note_reply(Connection& connection) {
  if (plan_.depth > 1 || draining_ > 0) return;
  const auto took = Clock::now() - connection.asked;
  replies_.add(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
}

/// What is said is short and the server reads: the socket blocks when it is full.
void Generator::say(Connection& connection, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t size =
        ::send(connection.descriptor, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) fail("send");
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
}

}  // namespace bench
