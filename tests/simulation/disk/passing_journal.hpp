#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/ports/journal.hpp"

namespace millrace::simulation {

/// A journal that does as another one does.
class PassingJournal : public Journal {
 public:
  explicit PassingJournal(Journal& journal) : journal_(journal) {}

  Outcome<Done> replay(const Visitor& visitor) override { return journal_.replay(visitor); }
  [[nodiscard]] Epoch epoch() const override { return journal_.epoch(); }
  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    return journal_.append(epoch, std::move(batch));
  }
  [[nodiscard]] Lsn durable() const override { return journal_.durable(); }
  [[nodiscard]] Durability durability() const override { return journal_.durability(); }
  void on_durable(std::function<void()> wake) override { journal_.on_durable(std::move(wake)); }
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    return journal_.read(begin, size);
  }
  void expect(Lsn begin, std::size_t size) override { journal_.expect(begin, size); }
  [[nodiscard]] Extent extent() const override { return journal_.extent(); }
  std::size_t trim(Lsn before) override { return journal_.trim(before); }
  void sync() override { journal_.sync(); }
  [[nodiscard]] const DiskSpace* disk_space() const override { return journal_.disk_space(); }

 protected:
  Journal& journal_;
};

}  // namespace millrace::simulation
