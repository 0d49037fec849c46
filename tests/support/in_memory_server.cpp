#include "support/in_memory_server.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace::test {
namespace {

/// More rounds without coming to rest mean that session and broker wake each other forever.
constexpr int kRoundsMax = 1'000'000;

faktory::Settings with_random(faktory::Settings settings) {
  if (!settings.random) {
    settings.random = [next = std::uint64_t{0}]() mutable { return next += 0x9e3779b97f4a7c15u; };
  }
  return settings;
}

}  // namespace

InMemoryServer::InMemoryServer() : InMemoryServer(Options{}) {}

InMemoryServer::InMemoryServer(Options options)
    : reads_ahead_(options.reads_ahead),
      now_(options.now),
      broker_(ledger_, format_,
              {.random_seed = options.random_seed,
               .pushes = options.pushes,
               .finished = options.finished}),
      beanstalk_(broker_, format_, std::move(options.beanstalk), now_),
      faktory_(broker_, format_, with_random(std::move(options.faktory)), now_) {}

InMemoryServer::~InMemoryServer() {
  for (auto& [name, connection] : connections_) end_session(connection);
}

void InMemoryServer::set_users(const access::SharedUsers& users) {
  beanstalk_.set_users(users);
  faktory_.set_users(users);
  come_to_rest();
}

void InMemoryServer::connect(const std::string& name, Protocol protocol, access::Caller caller) {
  auto [place, is_new] = connections_.try_emplace(name);
  CHECK(is_new);
  Session& session = *(place->second.session = protocol == Protocol::kBeanstalk
                                                   ? beanstalk_.open(std::move(caller))
                                                   : faktory_.open());
  if (reads_ahead_) place->second.ahead = session.make_read_ahead();
  session.start(now_);
  come_to_rest();
}

void InMemoryServer::send(const std::string& name, std::string_view bytes, std::size_t cut) {
  Connection& connection = find(name);
  while (!bytes.empty() && connection.session && !connection.is_half_closed) {
    std::string_view piece = cut == 0 ? bytes : bytes.substr(0, cut);
    connection.unread += piece;
    bytes.remove_prefix(piece.size());
    come_to_rest();
  }
}

std::string InMemoryServer::take_output(const std::string& name) {
  return std::exchange(find(name).output, {});
}

std::string InMemoryServer::ask(const std::string& name, std::string_view bytes) {
  send(name, bytes);
  return take_output(name);
}

void InMemoryServer::hold_output(const std::string& name, bool is_held) {
  find(name).is_output_held = is_held;
  come_to_rest();
}

void InMemoryServer::half_close(const std::string& name) {
  find(name).is_half_closed = true;
  come_to_rest();
}

void InMemoryServer::close(const std::string& name) {
  Connection& connection = find(name);
  if (connection.session) connection.session->note_broken();
  end_session(connection);
  come_to_rest();
}

bool InMemoryServer::is_open(const std::string& name) const {
  return connections_.at(name).session != nullptr;
}

void InMemoryServer::advance(Duration duration) {
  Time end = now_ + duration;
  come_to_rest();
  while (now_ < end) {
    Time planned = std::min(broker_.tick(now_), next_deadline());
    now_ = std::clamp(planned, now_, end);
    meet_deadlines();
    come_to_rest();
  }
}

void InMemoryServer::step_wall(Duration by) {
  broker_.set_wall_clock({.ahead = broker_.view().wall_clock().ahead + by});
  come_to_rest();
}

void InMemoryServer::drain() {
  beanstalk_.drain();
  faktory_.drain();
}

std::vector<std::string> InMemoryServer::take_batches() {
  come_to_rest();
  return std::exchange(batches_, {});
}

InMemoryServer::Connection& InMemoryServer::find(const std::string& name) {
  auto found = connections_.find(name);
  CHECK(found != connections_.end());
  return found->second;
}

void InMemoryServer::end_session(Connection& connection) {
  if (!connection.session) return;
  connection.session->close(now_);
  connection.session.reset();
  connection.unread.clear();
}

void InMemoryServer::come_to_rest() {
  for (int round = 0; settle() <= now_; ++round) CHECK(round < kRoundsMax);
}

/// Lets everybody do what can be done without the clock, then the broker what is due. Answers when
/// the broker has something planned.
Time InMemoryServer::settle() {
  bool is_busy = true;
  for (int round = 0; is_busy; ++round) {
    CHECK(round < kRoundsMax);
    is_busy = resume_woken();
    for (auto& [name, connection] : connections_) is_busy = serve(connection) || is_busy;
  }
  Time planned = broker_.tick(now_);
  ledger_.record_clock(now_);
  if (ledger_.has_batch()) batches_.push_back(ledger_.take_batch());
  // A session that waited only for the batch to be taken continues.
  const bool is_wanted =
      std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) {
        return entry.second.session && entry.second.session->wants_resume();
      });
  return resume_woken() || is_wanted ? now_ : planned;
}

bool InMemoryServer::resume_woken() {
  std::vector<Session*> woken = broker_.take_woken();
  for (Session* session : woken) {
    if (session->wants_resume()) session->resume(now_);
  }
  return !woken.empty();
}

/// One round for a connection; true when something was done.
bool InMemoryServer::serve(Connection& connection) {
  if (!connection.session) return false;
  Session& session = *connection.session;
  bool is_busy = feed(connection);
  if (!connection.is_output_held && !session.output().empty()) {
    const std::string taken = session.take_output();
    session.sent(taken.size());
    connection.output += taken;
    is_busy = true;
  }
  if (session.wants_resume()) {
    session.resume(now_);
    is_busy = true;
  }
  if (session.wants_close() && session.output().empty()) {
    end_session(connection);
    is_busy = true;
  }
  return is_busy;
}

bool InMemoryServer::feed(Connection& connection) {
  Session& session = *connection.session;
  if (!connection.unread.empty() && session.wants_input()) {
    const std::string bytes = std::exchange(connection.unread, {});
    if (connection.ahead) connection.ahead->read(bytes);
    session.receive(bytes, now_);
    return true;
  }
  if (connection.unread.empty() && connection.is_half_closed && !connection.knows_end) {
    connection.knows_end = true;
    session.end_of_input(now_);
    return true;
  }
  return false;
}

Time InMemoryServer::next_deadline() const {
  Time next = kNever;
  for (const auto& [name, connection] : connections_) {
    if (!connection.session) continue;
    next = std::min({next, connection.session->close_at(), connection.session->wake_at()});
  }
  return next;
}

void InMemoryServer::meet_deadlines() {
  for (auto& [name, connection] : connections_) {
    if (!connection.session) continue;
    if (connection.session->close_at() <= now_) {
      end_session(connection);
    } else if (connection.session->wake_at() <= now_) {
      connection.session->resume(now_);
    }
  }
}

}  // namespace millrace::test
