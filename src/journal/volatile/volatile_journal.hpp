#pragma once

#include "core/ports/journal.hpp"

namespace millrace::journal {

/// The journal of a server that keeps nothing: every batch counts as durable the moment that it is
/// appended, so no client waits and no wake-up is needed.
class VolatileJournal final : public Journal {
 public:
  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override;
  [[nodiscard]] Epoch epoch() const override { return kOnlyEpoch; }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override;
  [[nodiscard]] Lsn durable() const override;
  [[nodiscard]] Durability durability() const override { return Durability::kWhenAppended; }
  void on_durable(std::function<void()> wake) override;
  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override;
  void expect(Lsn begin, std::size_t size) override;
  [[nodiscard]] Extent extent() const override;
  std::size_t trim(Lsn before) override;
  void sync() override;

 private:
  Lsn end_ = 0;
};

}  // namespace millrace::journal
