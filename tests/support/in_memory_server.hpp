#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "beanstalk/service.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"

namespace millrace::test {

enum class Protocol { kBeanstalk, kFaktory };

/// A whole server in memory: a broker, both protocols, and named connections, all under a clock
/// that the test moves. It drives the sessions as core/ports/session.hpp asks for, and comes to
/// rest after each call: nothing is left to do at the present time.
///
///     InMemoryServer server;
///     server.connect("worker", Protocol::kBeanstalk);
///     server.send("worker", "reserve-with-timeout 5\r\n");
///     server.advance(5s);
///     CHECK(server.take_output("worker") == "TIMED_OUT\r\n");
class InMemoryServer {
 public:
  struct Options {
    beanstalk::Settings beanstalk;
    faktory::Settings faktory;  ///< without `random`: numbers that are the same each time
    std::uint64_t random_seed = 1;
    PushRules pushes = {};
    FinishedJobs::Limits finished = {};
    bool reads_ahead = false;  ///< as sockets with threads of their own do
    Time now{std::chrono::seconds{1'700'000'000}};
  };

  InMemoryServer();
  explicit InMemoryServer(Options options);
  ~InMemoryServer();
  InMemoryServer(const InMemoryServer&) = delete;
  InMemoryServer& operator=(const InMemoryServer&) = delete;

  /// The name must not be that of an earlier connection. `caller`: of beanstalk clients, who have
  /// no login.
  void connect(const std::string& name, Protocol protocol,
               access::Caller caller = access::Caller::everybody());

  /// As a reload does.
  void set_users(const access::SharedUsers& users);

  /// The client sends, in pieces of at most `cut` bytes (0: in one). What the session does not want
  /// yet waits, as in a socket. Nothing happens when the connection is closed.
  void send(const std::string& name, std::string_view bytes, std::size_t cut = 0);

  /// What the client has received since the last call, also after the connection was closed.
  std::string take_output(const std::string& name);

  /// Sends, and takes the output.
  [[nodiscard]] std::string ask(const std::string& name, std::string_view bytes);

  /// The client does not read from now on, or does again: output stays with the session meanwhile.
  void hold_output(const std::string& name, bool is_held);

  /// The client closes its sending side; or the whole connection.
  void half_close(const std::string& name);
  void close(const std::string& name);
  [[nodiscard]] bool is_open(const std::string& name) const;

  /// Moves the clock step by step, doing at each what is planned for it.
  void advance(Duration duration);

  /// Sets the wall clock ahead, or back, of what it showed.
  void step_wall(Duration by);

  /// Neither protocol takes new work from now on.
  void drain();

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] Broker& broker() { return broker_; }
  [[nodiscard]] Ledger& ledger() { return ledger_; }

  /// Everything that the broker has recorded since the last call, batch by batch.
  [[nodiscard]] std::vector<std::string> take_batches();

 private:
  struct Connection {
    std::unique_ptr<Session> session;  ///< null when closed
    std::unique_ptr<ReadAhead> ahead;  ///< may be null
    std::string unread;                ///< sent by the client, not wanted by the session yet
    std::string output;                ///< received by the client
    bool is_half_closed = false;
    bool knows_end = false;  ///< the session was told of the half-close
    bool is_output_held = false;
  };

  Connection& find(const std::string& name);
  void end_session(Connection& connection);
  void come_to_rest();
  Time settle();
  bool serve(Connection& connection);
  bool feed(Connection& connection);
  bool resume_woken();
  Time next_deadline() const;
  void meet_deadlines();

  const bool reads_ahead_;
  Time now_;
  faktory::WorkUnits format_;
  Ledger ledger_;
  Broker broker_;
  beanstalk::Service beanstalk_;
  faktory::Service faktory_;
  std::map<std::string, Connection> connections_;
  std::vector<std::string> batches_;
};

}  // namespace millrace::test
