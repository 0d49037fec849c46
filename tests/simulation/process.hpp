#pragma once

#include <array>
#include <memory>

#include "server/cleaner.hpp"
#include "server/manual_clock.hpp"
#include "simulation/world.hpp"

namespace millrace::simulation {

inline constexpr std::size_t kClientSlots = 6;

/// Writes down each batch that the broker hands to the journal.
class World::Recorder final : public Journal {
 public:
  Recorder(World& world, Journal& journal) : world_(world), journal_(journal) {}

  Outcome<Done> replay(const Visitor& visitor) override { return journal_.replay(visitor); }
  Span append(std::string batch) override {
    ++world_.totals_.batches;
    std::string copy = batch;
    const Span span = journal_.append(std::move(batch));
    world_.landmarks_.push_back(
        {.batch = std::move(copy), .begin = span.begin, .facts = world_.model_.facts});
    return span;
  }
  [[nodiscard]] Lsn durable() const override { return journal_.durable(); }
  void on_durable(std::function<void()> wake) override { journal_.on_durable(std::move(wake)); }
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    return journal_.read(begin, size);
  }
  void expect(Lsn begin, std::size_t size) override { journal_.expect(begin, size); }
  [[nodiscard]] Extent extent() const override { return journal_.extent(); }
  [[nodiscard]] bool is_full() const override { return journal_.is_full(); }
  void trim(Lsn before) override { journal_.trim(before); }
  void sync() override { journal_.sync(); }

 private:
  World& world_;
  Journal& journal_;
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
  server::Loop loop;
  server::ManualClock clock;
  Broker broker;
  beanstalk::Door beanstalk;
  faktory::Door faktory;
  server::CommitQueue commits;
  server::Cleaner cleaner;
  std::array<std::unique_ptr<Client>, kClientSlots> clients;
};

}  // namespace millrace::simulation
