#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "journal/shared/simulated_log.hpp"
#include "simulation/client.hpp"
#include "simulation/failover/log_audit.hpp"
#include "simulation/failover/mistake.hpp"
#include "simulation/failover/totals.hpp"
#include "simulation/model/conversation.hpp"
#include "simulation/model/model.hpp"
#include "simulation/model/workload.hpp"

namespace millrace::simulation {

/// Two or three servers over one log service. Each has a clock that drifts, a disk for its cache
/// and a connection of its own. They crash, lose power or their disk, are paused, are cut off from
/// the service, and hand over; what they send to the service is late or lost. Everything follows
/// from the seed. It demands:
///
///  * every reply of a leader is the one that the model foretells;
///  * what a client is told of is in the log, and nothing twice;
///  * no two servers may answer at the same time, and a deposed leader answers nothing more;
///  * a new leader has all that the log has: its state is, byte for byte, that of the batches which
///    were stored, and so is that of each standby that has applied them;
///  * a server that reads the whole log gets the same bytes of state, whatever was trimmed;
///  * nothing waits for longer than a client asked for because another server's clock is late, and
///    no record tells of a time to come, so that a new leader's clock jumps ahead;
///  * when nothing fails any more, a server leads soon, all replies arrive, and all standbys have
///    applied everything.
///
/// The parts are the real ones, except the log service and the disks. A `Violation` is thrown when
/// something does not hold.
class Failover {
 public:
  struct Options {
    std::uint64_t seed = 1;
    int terms = 12;           ///< parts of a world's life, each of which ends with a fault
    int steps_per_term = 60;  ///< at most, and ten times so many once in a while
    std::vector<std::uint64_t> segment_bytes = {512, 1024, 4096};  ///< one is drawn
    /// What jobs may take in memory; one is drawn, and 0 is no limit. With 1 no body stays.
    std::vector<std::uint64_t> memory_bytes = {0, 0, 1, 14'000};
    std::vector<std::size_t> message_bytes = {1 << 20, 1 << 20, 300, 40};
    std::vector<Duration> leases = {1s, 5s, 20s};

    // For tests of the simulation itself.
    std::function<std::unique_ptr<Journal>(Journal&)> wrap_journal = {};  ///< of each leader
    Mistake mistake = Mistake::kNone;

    /// Is told what happens.
    std::function<void(const std::string&)> trace = {};
  };

  explicit Failover(Options options);
  ~Failover();
  Failover(const Failover&) = delete;
  Failover& operator=(const Failover&) = delete;

  void run();

  [[nodiscard]] FailoverTotals totals() const;

 private:
  struct Node;
  struct Process;
  struct Term;
  class Recorder;

  // What happens (failover.cpp).
  void step();
  void pass(Duration by);
  [[nodiscard]] Duration longest_step() const;
  void end_pause();
  void come_to_serve();
  [[nodiscard]] bool is_served() const;
  void come_to_rest();
  [[nodiscard]] std::string find_unrest() const;

  // Leadership (failover_leaders.cpp).
  [[nodiscard]] bool is_leader_awake() const;
  [[nodiscard]] Time now() const;
  void lead(Process& process);
  void check_taken_over();
  void check_waits() const;
  void check_standby(const Process& process) const;
  void check_holders() const;
  void step_deposed(Node& node);

  // Machines and their faults (failover_nodes.cpp).
  enum class Amount { kOne, kAll };
  Node& any_node();
  void start(Node& node);
  enum class Cache { kOfUse, kUseless };
  void fail_start(Node& node, const std::string& why, Cache cache);
  void wipe(Node& node);
  void work(Node& node);
  void follow(Node& node);
  void start_over(Node& node);
  void deliver(Node& node, Amount amount);
  void deliver_orphan();
  void die_with_disk(Node& node);
  void kill(Node& node);
  static void cut_power(Node& node);
  void end(Node& node);
  void hand_over(Node& node);
  void strike(Node& node);
  void heal();

  // A leader's life (failover_clients.cpp).
  [[nodiscard]] Term& term() const;
  void client_step();
  void connect(std::size_t slot);
  void disconnect(std::size_t slot);
  void converse(Client& client);
  void spread_retries();
  void work(Term& term, Time now);
  void poll();
  void observe();
  void observe(Client& client);
  void note_reply(const Term& term, const Client::Told& told);
  void tell(const std::string& text);

  const Options options_;
  Random random_;
  Workload workload_;
  faktory::WorkUnits format_;
  journal::SimulatedLog log_;
  LogAudit audit_;
  Model model_;
  Conversation conversation_;
  Time real_;             ///< what a right clock would show
  Time latest_append_{};  ///< by the clock of the leader
  const std::uint64_t segment_bytes_;
  const std::uint64_t memory_bytes_;
  const Duration lease_;
  const std::uint64_t log_name_;
  const bool is_strict_;  ///< what hands out a job waits for all that came before

  std::vector<std::unique_ptr<Node>> nodes_;
  /// Connections of processes that have ended: what they sent may still arrive.
  struct Orphan {
    std::shared_ptr<journal::SimulatedLogService> link;
    Time until{};
  };
  std::vector<Orphan> orphans_;
  Process* leader_ = nullptr;  ///< the model tells of it; null: there is none
  bool is_calm_ = false;       ///< nothing fails
  ClientNumber next_client_ = 1;
  ClientNumber first_client_ = 1;  ///< of the present leader
  FailoverTotals totals_;
};

}  // namespace millrace::simulation
