#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "beanstalk/service.hpp"
#include "faktory/service.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "server/manual_clock.hpp"
#include "server/role/role.hpp"
#include "server/role/standby.hpp"
#include "server/turn/turn.hpp"
#include "simulation/disk/faulty_disk.hpp"
#include "simulation/disk/passing_journal.hpp"
#include "simulation/failover/drifting_clock.hpp"
#include "simulation/failover/failover.hpp"
#include "simulation/failover/standby_journal.hpp"

namespace millrace::simulation {

inline constexpr std::size_t kFailoverClients = 5;

/// What is gone when the process ends.
struct Failover::Process {
  Process(Failover& world, Node& node, std::unique_ptr<journal::FileJournal> cache);
  ~Process();

  /// Whether it may answer its clients now. It may think so by mistake.
  [[nodiscard]] bool may_answer() const;

  Failover& world;
  Node& node;
  journal::FileJournal& cache;
  journal::Sequence applied = 0;  ///< the last batch that it has applied
  Duration skew{};
  journal::ReplicatedJournal journal;
  StandbyJournal standby_journal;
  Ledger ledger;
  Broker broker;
  server::Role role;
  server::Standby standby;
  std::unique_ptr<Term> term;  ///< once it leads
};

/// Writes down each batch that the world's leader appends.
class Failover::Recorder final : public PassingJournal {
 public:
  Recorder(Process& process, Journal& journal) : PassingJournal(journal), process_(process) {}

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override;
  [[nodiscard]] bool may_answer() const override { return process_.may_answer(); }

 private:
  Process& process_;
};

/// What a process has only while it leads, and until it knows that it does not any more. What the
/// main loop finds outside of itself is part of it: clients speak between its turns, and the model
/// does what the server does.
struct Failover::Term final : public server::Input, public server::Duties {
  explicit Term(Process& process);

  /// Turns, until nothing is left to do.
  void run();
  void join(Client& client) { turn.join(client.session(), client); }
  void leave(Client& client) { turn.leave(client.session(), client); }

  /// Notes whether the lease has been over.
  void look_at_lease();

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return true; }
  [[nodiscard]] bool has_work() const override { return false; }
  void wake() override {}
  server::Compactor::Limits set_limits(server::Compactor::Limits asked, Time now) override;
  void work(Time now) override { world.work(*this, now); }
  void let_go(Lsn durable) override;
  void stand_down() override { has_stood_down = true; }

  Process& process;
  Failover& world;
  const Epoch epoch;
  const std::unique_ptr<Journal> wrapped_journal;
  Recorder recorder;
  server::ManualClock clock;
  beanstalk::Service beanstalk;
  faktory::Service faktory;
  server::MainLoop main;
  server::Turn& turn = main.turn;
  std::array<std::unique_ptr<Client>, kFailoverClients> clients;
  bool had_lease = true;  ///< when that was looked at last
  bool has_stood_down = false;
};

/// One of the machines.
struct Failover::Node {
  Node(std::string called, Random& random) : name(std::move(called)), disk(platter, random) {}

  [[nodiscard]] bool is_alive() const { return process != nullptr; }
  [[nodiscard]] bool is_awake(Time real) const { return is_alive() && paused_until <= real; }

  const std::string name;
  journal::SimulatedDisk platter;
  FaultyDisk disk;
  std::string cache_problem;
  DriftingClock clock;
  Time paused_until{};
  Time down_until{};  ///< it does not start before
  std::shared_ptr<journal::SimulatedLogService> link;
  Time cut_off_until{};     ///< from the log service
  Time deaf_until{};        ///< to the log service, which hears it
  Time behind_until{};      ///< what it reads of the log is stale
  std::uint64_t asked = 0;  ///< the append that has waited for longest for its answer,
  Time asked_at{};          ///< and since when
  std::unique_ptr<Process> process;
};

}  // namespace millrace::simulation
