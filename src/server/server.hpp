#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "beanstalk/service.hpp"
#include "core/broker/broker.hpp"
#include "core/ports/journal.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "http/kit/cluster.hpp"
#include "http/routes/site.hpp"
#include "server/background_thread.hpp"
#include "server/clock_watch.hpp"
#include "server/cluster/node_reporter.hpp"
#include "server/cluster/node_reports.hpp"
#include "server/cron/cron_runner.hpp"
#include "server/net/bound_socket.hpp"
#include "server/net/connections.hpp"
#include "server/net/listener.hpp"
#include "server/net/net.hpp"
#include "server/net/poller.hpp"
#include "server/net/tls.hpp"
#include "server/notices.hpp"
#include "server/options/config.hpp"
#include "server/options/users_file.hpp"
#include "server/process/audit_file.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/process/process.hpp"
#include "server/relay/relay.hpp"
#include "server/relay/web_front.hpp"
#include "server/role/lease_keeper.hpp"
#include "server/role/role.hpp"
#include "server/role/standby.hpp"
#include "server/statsd.hpp"
#include "server/turn/stall_watch.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

class WebService;

/// The whole server: one broker, its journal, its ports. One thread, the main loop's, serves the
/// clients of both job protocols; the web port has threads of its own.
class Server : private Duties, private Deadline {
 public:
  /// What a client does, as far as it shows from outside.
  enum class Visit { kBegun, kOver };

  /// The password and the certificate that the configuration names.
  struct Secrets {
    std::string password;  ///< of the Faktory port; empty: none
    /// Of all ports but unix sockets; null: plain. Shared by all copies of the options.
    std::shared_ptr<const TlsContext> tls;
    std::vector<AlertOptions> alerts;
    UsersFile users;
  };

  /// The configuration, and what only the process knows.
  struct Options {
    Config config;
    Secrets secrets;
    LoopStep* step = nullptr;                ///< outlives the server; null: nobody asks
    std::function<bool()> should_continue;   ///< asked while the log is read: false ends that
    std::uint64_t clients_max = UINT64_MAX;  ///< of both job ports; further ones are not let in
    std::size_t web_connections_max = kWebConnectionsMax;
    /// On a small volume no body is longer: no segment would hold it.
    std::size_t job_bytes_cap = kBodyBytesMax;
    std::uint64_t binlog_bytes_max = beanstalk::Settings{}.binlog_bytes_max;  ///< shown in `stats`
    std::size_t line_bytes_max = faktory::Settings{}.line_bytes_max;          ///< a Faktory command
    std::size_t unsent_bytes_max = kUnsentBytesMax;
    std::size_t kept_input_bytes_max = kKeptInputBytesMax;
    std::uint64_t random_seed = 0;
    LockSecret lock_secret{};     ///< see `Broker::Options`
    std::uint64_t takeovers = 0;  ///< by servers of this process before
    std::string own_ports;        ///< as the other servers are told of them
    /// Called when a client connects and when it has left, with its descriptor. Another client may
    /// have the descriptor before the second call. May be empty.
    std::function<void(Visit visit, int descriptor)> on_visit = {};

    /// Of a body put over beanstalk.
    [[nodiscard]] std::size_t job_bytes_max() const {
      return std::min(config.job_bytes_max, job_bytes_cap);
    }
    /// False: the ports of a standby are closed.
    [[nodiscard]] bool relays() const { return !config.log.empty() && !config.keeps_ports_closed; }
  };

  struct Port {
    const char* name;
    Address address;
    int descriptor;  ///< of the socket that clients come to
  };

  /// `clock` and `log` outlive the server. `shared` is the same object as `journal`, or null where
  /// the log is not shared.
  Server(Options options, std::unique_ptr<Journal> journal, Clock& clock, const Log& log,
         SharedJournal* shared = nullptr);
  ~Server() override;

  /// The sockets of the ports; nullopt: that port stays closed.
  struct Sockets {
    std::optional<BoundSocket> beanstalk;
    std::optional<BoundSocket> faktory;
    std::optional<BoundSocket> web;
    std::vector<BoundSocket> of_users;  ///< of the `listeners` that have an address, in their order
  };

  /// Takes the addresses that `options` name, those of `given` excepted, which are there already.
  /// Refuses what other machines could use without a password.
  [[nodiscard]] static Outcome<Sockets> bind(const Options& options, Sockets given, const Log& log);

  /// Reads the journal, and then lets clients in, or stands by where the log is shared. `run`
  /// serves them.
  [[nodiscard]] Outcome<Done> open(Sockets sockets);

  /// Binds and opens.
  [[nodiscard]] Outcome<Done> open();

  [[nodiscard]] std::vector<Port> ports() const;

  /// The main loop: serves until `stop` is through, or until another server leads the log. Where
  /// the log is shared it follows first, until it leads. Everything recorded is on the disk when it
  /// returns.
  void run();

  /// After `run`: the log is to be read anew, with a new server.
  [[nodiscard]] bool must_start_over() const { return must_start_over_; }

  /// What the main loop waits for.
  [[nodiscard]] Poller& poller() { return poller_; }

  /// Lets nobody in any more, refuses new work, answers what is in flight within `kStopMax`, and
  /// makes `run` return. Called again: does not wait for answers. Like all the following, to be
  /// called in the main loop's thread, for example by `Poller::post`.
  void stop();

  /// beanstalk clients can put no new jobs from now on; or no client can.
  void drain_beanstalk() { beanstalk_.drain(); }
  void drain();

  /// Takes what may change while it serves: see `reload` of options/config.hpp, whose answer it
  /// gives. The password and the certificate are those of clients that connect from now on. A
  /// certificate can be exchanged, not added or removed; and a password not removed.
  std::vector<std::string> reload(const Config& wanted, const Secrets& secrets);
  void reopen_audit_log() { audit_file_.reopen(); }

  /// Those in force: as they were given, with what was reloaded since.
  [[nodiscard]] const Options& options() const { return options_; }

  /// Does what has come due by the clock.
  void wake() { loop_.turn.request(); }

  /// True when nothing is left to do before the clock moves on or a client sends something.
  [[nodiscard]] bool is_at_rest() const { return loop_.turn.is_at_rest(); }

  /// It came to lead a log that is shared.
  [[nodiscard]] bool has_taken_over() const { return lease_keeper_.has_value(); }

  /// When the next thing is due.
  [[nodiscard]] Time next_due() const { return loop_.ticker.next(); }

  [[nodiscard]] View view() const { return broker_.view(); }

  [[nodiscard]] std::size_t connection_count() const { return connections_.count(); }

  /// What is planned there is done in the main loop's thread, at its time.
  [[nodiscard]] Ticker& ticker() { return loop_.ticker; }

 private:
  /// Null: the client is sent away.
  using OpenSession = std::function<std::unique_ptr<Session>(Listener::Accepted& accepted)>;

  /// A port, and the sessions of its clients.
  struct Gate {
    const char* name;
    OpenSession open_session;
    std::unique_ptr<Listener> listener;
    bool is_listening = false;
  };

  /// How far the end of a stopping server is.
  enum class Stage {
    kRefusingWork,  ///< for `kStopGrace`: what was on its way is answered
    kFinishing,     ///< until `kStopMax`: clients take their last answers
    kEnded,         ///< nobody is connected: `run` returns
  };

  void begin_step(const char* name) const {
    if (options_.step != nullptr) options_.step->begin(name);
  }
  void add_gate(const char* name, BoundSocket socket, OpenSession open_session);
  [[nodiscard]] std::unique_ptr<Session> open_beanstalk(const std::optional<Address>& at,
                                                        const Listener::Accepted& accepted);
  void add_web(BoundSocket socket);
  [[nodiscard]] http::TrafficFacts traffic() const;
  [[nodiscard]] Outcome<Done> open_audit_log();
  Outcome<Done> replay();
  /// What a reload may change: at the start, too, so that the reload forgets nothing.
  /// `has_other_listeners`: beanstalk clients may be other users than they were.
  void put_in_force(bool has_other_listeners = false);
  void note_users(const access::Users& before, const access::Users& after);
  void set_throttles();
  [[nodiscard]] std::uint64_t job_count() const;  ///< in all states
  void begin_time();
  Outcome<Done> lead(Epoch epoch);
  [[nodiscard]] bool stand_by();
  [[nodiscard]] bool follow(Standby& standby);
  [[nodiscard]] std::optional<SharedJournal::Leader> heard_leader(Time remembered) const;
  void relay(Time now, const std::optional<SharedJournal::Leader>& leader);
  void look_at_lease(bool is_lost, Time now);
  void lose_touch();
  [[nodiscard]] Relay::Options relay_options() const;
  Outcome<Done> open_relay();
  Outcome<Done> open_web_relay();
  void close_relay();
  [[nodiscard]] bool redirects_web() const;
  [[nodiscard]] http::LeadershipFacts leadership() const;
  [[nodiscard]] http::ClusterFacts cluster() const;
  [[nodiscard]] http::NodeReport own_report() const;
  void take_report(http::NodeReport report);
  void report(Time now, const std::optional<SharedJournal::Leader>& leader);
  [[nodiscard]] std::vector<std::string> out_of_reach() const;
  [[nodiscard]] const std::string& web_password() const;
  [[nodiscard]] std::optional<std::string> answer_web(std::string_view method,
                                                      std::string_view path) const;
  Outcome<Done> listen();
  Outcome<Done> listen_at_gates();
  void let_in(const Gate& gate, Listener::Accepted accepted);
  void admit(const Gate& gate, Listener::Accepted accepted);
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool is_stopping() const { return role_.name() == Role::Name::kStopping; }
  void enter(Stage stage);
  void finish_connections();
  void drop_connections();
  void hand_over();
  Compactor::Limits set_limits(Compactor::Limits asked, Time now) override;
  void work(Time now) override;
  void let_go(Lsn durable) override;
  void stand_down() override;
  void expire(Time now) override;
  [[nodiscard]] Admission look_for_room(Admission admission, Time now);

  Options options_;
  std::unique_ptr<Journal> journal_;
  SharedJournal* const shared_;  ///< the same; null: it is not shared
  Clock& clock_;
  const Log& log_;
  faktory::WorkUnits work_units_;
  Ledger ledger_;
  Broker broker_;
  beanstalk::Service beanstalk_;
  faktory::Service faktory_;
  std::atomic<bool> has_log_news_ = true;  ///< while it follows
  Poller poller_;
  Net net_;
  MainLoop loop_;
  BackgroundThread background_{poller_, [this] { loop_.turn.request(); }};
  StallWatch stall_watch_;
  CronRunner cron_;
  Statsd statsd_;
  AuditFile audit_file_;
  ClockWatch clock_watch_;
  Notices notices_;
  std::vector<Gate> gates_;
  Connections connections_;
  /// While another server leads, as the following; also while this one leads and has lost touch
  /// with the log: then clients wait there.
  std::optional<Relay> relay_;
  std::optional<WebFront> web_front_;
  std::unique_ptr<Listener> web_listener_;
  std::unique_ptr<WebService> web_;  ///< null: closed
  OwnPorts listening_;               ///< of a server that shares its log
  const std::uint64_t instance_;     ///< random: tells it from others of its name
  ReportKey report_key_;             ///< of a server that shares its log
  NodeReporter node_reporter_;       ///< used while another server leads
  NodeReports node_reports_;         ///< since this one leads
  std::optional<LeaseKeeper> lease_keeper_;
  Role role_;
  bool must_start_over_ = false;
  bool has_caught_up_ = false;          ///< with what the log had at the start
  Stage stage_ = Stage::kRefusingWork;  ///< while it stops
};

/// How long clients are still served after `stop`, with new work refused: what was already on its
/// way when we decided to stop arrives within this.
inline constexpr Duration kStopGrace = std::chrono::milliseconds(100);

/// A server that shares its log hands over instead: it drops its clients after this.
inline constexpr Duration kHandoverMax = std::chrono::milliseconds(50);

/// After this, clients that do not take their answers are dropped.
inline constexpr Duration kStopMax = std::chrono::seconds(5);

}  // namespace millrace::server
