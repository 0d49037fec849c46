/// The two queues between sockets and sessions, over a net that everything is drawn for: it cuts
/// what clients send, lets one connection overtake others, holds orders up, and breaks connections.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/net/client_socket.hpp"
#include "server/turn/client_session.hpp"
#include "server/turn/test_loop.hpp"
#include "simulation/random.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using simulation::Random;

/// What the net does wrong, so that the world must find it.
enum class Mistake {
  kNone,
  kReplyBeforeItsLsn,  ///< output leaves though what it tells of is not durable
  kLostCredit,         ///< an order to read on is not carried out
  kOvertakingEnd,      ///< the end is told before input that came earlier
  kSwappedOutput,      ///< the last output of a connection leaves first
  kCutOutput,          ///< what the system did not take of an output is not offered again
};

/// Puts a job for each line, and answers with the line.
class PuttingSession final : public Session {
 public:
  using Put = std::function<void(const std::string& line, Time now)>;
  explicit PuttingSession(Put put) : put_(std::move(put)) {}

  void start(Time) override {}
  void receive(std::string_view bytes, Time now) override {
    kept_ += bytes;
    resume(now);
  }
  void resume(Time now) override {
    while (wants_resume()) {
      const std::string line = kept_.substr(0, kept_.find('\n'));
      kept_.erase(0, line.size() + 1);
      put_(line, now);
      output_ += line + "\n";
    }
  }
  void end_of_input(Time) override { has_ended_ = true; }
  void deliver(const Delivery&, Time) override {}
  void close(Time) override {}
  [[nodiscard]] bool wants_input() const override { return !wants_resume(); }
  [[nodiscard]] std::size_t kept_bytes() const override { return kept_.size(); }
  [[nodiscard]] bool wants_resume() const override {
    return output_.size() < kOutputBytesPause && kept_.find('\n') != std::string::npos;
  }
  [[nodiscard]] bool wants_close() const override { return has_ended_ && !wants_resume(); }

 private:
  const Put put_;
  std::string kept_;
  bool has_ended_ = false;
};

/// A client, its socket in a double of the net, and its session.
struct Connection {
  std::unique_ptr<ClientSocket> address = std::make_unique<ClientSocket>(-1, nullptr);
  std::unique_ptr<ClientSession> session;

  // The client.
  std::string said;   ///< all of it
  std::string heard;  ///< the same
  bool has_ended = false;
  bool reads = true;

  // The socket.
  std::string inbound;  ///< that was not handed on
  std::string handed;   ///< that stays in place
  bool is_handed_on = false;
  bool is_end_told = false;
  bool is_broken = false;
  bool is_over = false;
  std::deque<Order> outbox;
  bool is_ending = false;
  std::size_t untold_bytes = 0;
};

class World {
 public:
  World(std::uint64_t seed, Mistake mistake) : random_(seed), mistake_(mistake) {
    loop_.on_take = [this](Duration) { serve(); };
    for (int i = 0; i < 4; ++i) connect();
  }
  ~World() {
    for (auto& each : all_) close(*each);
  }

  /// What was wrong; nullopt: nothing.
  std::optional<std::string> run() {
    for (int step = 0; step < 400 && !problem_; ++step) act();
    come_to_rest();
    for (const auto& each : all_) {
      if (!each->is_broken && each->heard != each->said) note("a client has not heard all");
    }
    return problem_;
  }

 private:
  void note(const std::string& problem) {
    if (!problem_) problem_ = problem;
  }

  void connect() {
    auto made = std::make_unique<Connection>();
    Connection& connection = *made;
    auto session = std::make_unique<PuttingSession>([this](const std::string& line, Time now) {
      REQUIRE(loop_.broker.put({.queue = "default", .body = line}, now));
      unplaced_.push_back(line);
    });
    made->session = std::make_unique<ClientSession>(std::move(session), *made->address,
                                                    ordered_[all_.size() % 2], parts_);
    made->session->start();
    by_address_[made->address.get()] = &connection;
    all_.push_back(std::move(made));
  }

  // ---- the sessions' side

  void serve() {
    auto& [answered, others] = parts_.ready;
    while (!parts_.ready.is_empty()) {
      std::deque<ClientSession*>& queue = answered.empty() ? others : answered;
      ClientSession* const first = queue.front();
      queue.pop_front();
      if (first != nullptr) first->serve(random_.between(1, kServedBytesMin));
    }
  }

  void turn() {
    parts_.unsent.turn_bytes = 0;
    loop_.run();
    for (const std::string& line : unplaced_) places_[line] = loop_.journal.end();
    unplaced_.clear();
    for (std::size_t thread = 0; thread < 2; ++thread) {
      for (Order& order : ordered_[thread].values()) under_way_[thread].push_back(std::move(order));
      ordered_[thread].clear();
    }
  }

  // ---- the net

  Arrival arrival(Connection& connection) {
    Arrival said{};
    said.to = connection.session.get();
    said.sent_bytes = std::exchange(connection.untold_bytes, 0);
    return said;
  }

  void hand_on(Connection& connection) {
    if (connection.is_over || connection.is_end_told || connection.is_handed_on) return;
    const bool overtakes = mistake_ == Mistake::kOvertakingEnd && connection.has_ended;
    if (connection.inbound.empty() || overtakes) {
      if (!connection.has_ended) return;
      connection.is_end_told = true;
      Arrival said = arrival(connection);
      said.is_end = true;
      return connection.session->take(said);
    }
    const std::size_t bytes = random_.between(1, connection.inbound.size());
    connection.handed = connection.inbound.substr(0, std::min(bytes, kInputShareBytes));
    connection.inbound.erase(0, connection.handed.size());
    connection.is_handed_on = true;
    Arrival said = arrival(connection);
    said.input = connection.handed;
    // The end may come with the last input.
    said.is_end = connection.has_ended && connection.inbound.empty() && random_.one_in(2);
    connection.is_end_told = said.is_end;
    connection.session->take(said);
  }

  /// The oldest order of one of the threads.
  void obey(std::deque<Order>& orders) {
    if (orders.empty()) return;
    Order order = std::move(orders.front());
    orders.pop_front();
    Connection& connection = *by_address_.at(order.to);
    if (connection.is_over) return;
    const Order::Then then = order.then;
    if (!order.output.empty()) connection.outbox.push_back(std::move(order));
    switch (then) {
      case Order::Then::kReadOn:
        if (mistake_ != Mistake::kLostCredit || !random_.one_in(20)) {
          connection.is_handed_on = false;
        }
        break;
      case Order::Then::kFinish:
      case Order::Then::kEnd:
        connection.is_ending = true;
        break;
      case Order::Then::kDrop:
        return close(connection);
      case Order::Then::kNothing:
      case Order::Then::kOpen:
      case Order::Then::kHold:
      case Order::Then::kForget:
        break;
    }
    send(connection);
  }

  /// As much as the system takes.
  void send(Connection& connection) {
    if (connection.is_over) return;
    std::deque<Order>& outbox = connection.outbox;
    while (!outbox.empty() && connection.reads) {
      const bool swaps = mistake_ == Mistake::kSwappedOutput;
      Order& order = swaps ? outbox.back() : outbox.front();
      const bool may_leave = order.lsn <= loop_.journal.durable();
      if (!may_leave && mistake_ != Mistake::kReplyBeforeItsLsn) break;
      const std::size_t bytes = random_.between(1, order.output.size());
      hear(connection, order.output.substr(0, bytes));
      const bool is_cut = mistake_ == Mistake::kCutOutput;
      connection.untold_bytes += is_cut ? order.output.size() : bytes;
      order.output.erase(0, is_cut ? order.output.size() : bytes);
      if (!order.output.empty()) break;
      swaps ? outbox.pop_back() : outbox.pop_front();
    }
    if (outbox.empty() && connection.is_ending) return close(connection);
    if (connection.untold_bytes > 0 && random_.one_in(2)) {
      Arrival said = arrival(connection);
      said.is_full = !outbox.empty();
      connection.session->take(said);
    }
  }

  void hear(Connection& connection, const std::string& bytes) {
    const std::size_t begin = connection.heard.rfind('\n') + 1;
    connection.heard += bytes;
    if (!std::string_view(connection.said).starts_with(connection.heard)) {
      note("a client has heard something else than it asked");
    }
    std::string_view whole = std::string_view(connection.heard).substr(begin);
    for (std::size_t end = whole.find('\n'); end != whole.npos; end = whole.find('\n')) {
      const auto place = places_.find(std::string(whole.substr(0, end)));
      if (place == places_.end() || place->second > loop_.journal.durable()) {
        note("a client has heard of what is not durable");
      }
      whole.remove_prefix(end + 1);
    }
  }

  void close(Connection& connection) {
    if (std::exchange(connection.is_over, true)) return;
    Arrival said = arrival(connection);
    said.is_over = said.is_gone = true;
    said.is_broken = connection.is_broken;
    connection.session->take(said);
  }

  // ---- what happens

  void act() {
    Connection& connection = *all_[random_.below(all_.size())];
    const std::uint64_t kind = random_.below(100);
    if (kind < 20) {
      say(connection);
    } else if (kind < 40) {
      hand_on(connection);
    } else if (kind < 60) {
      obey(under_way_[random_.below(2)]);
    } else if (kind < 70) {
      send(connection);
    } else if (kind < 80) {
      turn();
    } else if (kind < 90) {
      loop_.journal.make_durable(random_.between(loop_.journal.durable(), loop_.journal.end()));
    } else if (kind < 95) {
      connection.reads = random_.one_in(2);
    } else if (kind == 95) {
      connection.has_ended = true;
    } else if (kind == 96 && random_.one_in(4)) {
      connection.is_broken = true;
      close(connection);
    }
  }

  void say(Connection& connection) {
    if (connection.has_ended || connection.is_broken) return;
    std::string lines;
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      const std::size_t longest = random_.one_in(10) ? 20'000 : 20;
      lines += std::to_string(++line_) + std::string(random_.below(longest), 'x') + "\n";
    }
    connection.said += lines;
    connection.inbound += lines;
  }

  /// Everybody reads, everything is stored, and nothing is held up any more.
  void come_to_rest() {
    for (int round = 0; round < 2'000 && !problem_; ++round) {
      for (const auto& each : all_) {
        each->reads = true;
        hand_on(*each);
        send(*each);
      }
      turn();
      loop_.journal.make_durable(loop_.journal.end());
      for (auto& orders : under_way_) obey(orders);
    }
  }

  Random random_;
  const Mistake mistake_;
  TestLoop loop_;
  Log log_{[](std::string_view) {}};
  KeptInput kept_{{.turn = loop_.turn,
                   .ticker = loop_.ticker,
                   .clock = loop_.clock,
                   .log = log_,
                   .bytes_max = kKeptInputBytesMax}};
  ClientSession::Parts parts_{
      .turn = loop_.turn, .ticker = loop_.ticker, .clock = loop_.clock, .log = log_, .kept = kept_};
  Batch<Order> ordered_[2];         ///< for two I/O threads
  std::deque<Order> under_way_[2];  ///< of those, what was not carried out yet
  std::vector<std::unique_ptr<Connection>> all_;
  std::map<const ClientSocket*, Connection*> by_address_;
  std::vector<std::string> unplaced_;  ///< lines that were executed in this turn
  std::map<std::string, Lsn> places_;  ///< what is before must be durable to tell of a line
  int line_ = 0;
  std::optional<std::string> problem_;
};

/// What is wrong first in so many worlds; empty: nothing.
std::string first_problem(Mistake mistake, std::uint64_t worlds) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    if (const auto problem = World(seed, mistake).run()) return *problem;
  }
  return "";
}

}  // namespace

TEST_CASE("queues: whatever the net does, a client hears what it asked, once it is durable") {
  CHECK(first_problem(Mistake::kNone, 100) == "");
}

TEST_CASE("queues: mistakes of the net are found") {
  CHECK(first_problem(Mistake::kReplyBeforeItsLsn, 10) ==
        "a client has heard of what is not durable");
  CHECK(first_problem(Mistake::kLostCredit, 10) == "a client has not heard all");
  CHECK(first_problem(Mistake::kOvertakingEnd, 10) == "a client has not heard all");
  CHECK(first_problem(Mistake::kSwappedOutput, 10) ==
        "a client has heard something else than it asked");
  CHECK(first_problem(Mistake::kCutOutput, 10) ==
        "a client has heard something else than it asked");
}

}  // namespace millrace::server
