#pragma once

#include <array>
#include <memory>

#include "beanstalk/service.hpp"
#include "faktory/service.hpp"
#include "journal/shared/shared_log_journal.hpp"
#include "server/manual_clock.hpp"
#include "server/role/role.hpp"
#include "server/role/standby.hpp"
#include "server/turn/main_loop.hpp"
#include "simulation/disk/passing_journal.hpp"
#include "simulation/failover/failover.hpp"

namespace millrace::simulation {

inline constexpr std::size_t kFailoverClients = 5;

/// Writes down each batch that is accepted for the log.
class Failover::Recorder final : public PassingJournal {
 public:
  Recorder(Failover& world, Journal& journal) : PassingJournal(journal), world_(world) {}

  Result<Span, Deposed> append(Epoch epoch, std::string batch) override {
    std::string copy = batch;
    const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
    if (!span) return span;
    ++world_.totals_.batches;
    world_.landmarks_.push_back(
        {.batch = std::move(copy), .span = *span, .facts = world_.model_.facts});
    return span;
  }

 private:
  Failover& world_;
};

/// What a node has only while it leads, and until it knows that it does not any more. What the main
/// loop finds outside of itself is part of it: clients speak between its turns, and the model does
/// what the server does.
struct Failover::Term final : public server::Input, public server::Duties {
  Term(Failover& world, Node& node);

  /// Turns, until nothing is left to do.
  void run();
  void join(Client& client) { turn.join(client.session(), client); }
  void leave(Client& client) { turn.leave(client.session(), client); }

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return true; }
  void wake() override {}
  server::Compactor::Limits set_limits(server::Compactor::Limits asked, Time now) override;
  void work(Time now) override { world.work(*this, now); }
  void stand_down() override { has_stood_down = true; }

  Failover& world;
  const std::unique_ptr<Journal> wrapped_journal;
  Recorder recorder;
  server::ManualClock clock;
  beanstalk::Service beanstalk;
  faktory::Service faktory;
  server::MainLoop main;
  server::Turn& turn = main.turn;
  std::array<std::unique_ptr<Client>, kFailoverClients> clients;
  bool has_stood_down = false;
};

/// One of the two servers. Its journal and its broker are made anew whenever it starts over.
struct Failover::Node {
  explicit Node(const char* called) : name(called) {}

  const char* const name;
  server::Role role;
  std::unique_ptr<journal::SharedLogJournal> journal;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Broker> broker;
  std::unique_ptr<server::Standby> standby;
  std::unique_ptr<Term> term;
};

}  // namespace millrace::simulation
