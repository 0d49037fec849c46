#pragma once

#include <array>
#include <memory>

#include "server/manual_clock.hpp"
#include "server/turn/turn.hpp"
#include "simulation/disk/passing_journal.hpp"
#include "simulation/violation.hpp"
#include "simulation/world.hpp"
#include "support/queued_background.hpp"

namespace millrace::simulation {

inline constexpr std::size_t kClientSlots = 6;

/// Writes down each batch that the broker hands to the journal.
class World::Recorder final : public PassingJournal {
 public:
  Recorder(World& world, Journal& journal) : PassingJournal(journal), world_(world) {}

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    ++world_.totals_.batches;
    world_.check_times(batch);
    std::string copy = batch;
    const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
    world_.landmarks_.push_back(
        {.batch = std::move(copy), .begin = span->begin, .facts = world_.model_.facts});
    return span;
  }

  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    ++world_.totals_.bodies_read;
    Outcome<std::string> bytes = PassingJournal::read(begin, size);
    // The server would go on without this body. The model knows nothing of disks: the process ends.
    if (!bytes) throw std::runtime_error(bytes.error().text);
    return bytes;
  }

 private:
  World& world_;
};

/// What the main loop finds outside of itself: clients speak between its turns, and the model does
/// what the server does.
class World::Environment final : public server::Input, public server::Duties {
 public:
  explicit Environment(World& world) : world_(world) {}

  void take(Duration longest) override {
    demand(longest == Duration{}, "the server would wait");
    world_.resume_clients();
  }
  [[nodiscard]] bool serves_few() const override { return true; }
  [[nodiscard]] bool has_work() const override { return false; }
  void wake() override {}
  server::Compactor::Limits set_limits(server::Compactor::Limits asked, Time) override {
    return world_.limit(asked);
  }
  void work(Time now) override { world_.work(now); }
  void let_go(Lsn durable) override { world_.let_go(durable); }
  void stand_down() override { throw Violation("the only server was deposed"); }

 private:
  World& world_;
};

/// What is gone when the process ends.
struct World::Process {
  /// `files` and `journal` were opened for it; the log has not been replayed yet.
  Process(World& world, std::unique_ptr<journal::FileSystem> files,
          std::unique_ptr<journal::FileJournal> journal);

  const std::unique_ptr<journal::FileSystem> wrapped_files;
  const std::unique_ptr<journal::FileJournal> journal;
  const std::unique_ptr<Journal> wrapped_journal;
  Recorder recorder;
  server::ManualClock clock;
  Ledger ledger;
  Broker broker;
  beanstalk::Service beanstalk;
  test::QueuedBackground background;
  faktory::Service faktory;
  Environment environment;
  server::MainLoop main;
  server::Turn& turn = main.turn;
  std::array<std::unique_ptr<Client>, kClientSlots> clients;
};

}  // namespace millrace::simulation
