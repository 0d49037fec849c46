#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "core/ports/shared_journal.hpp"
#include "simulation/failover/mistake.hpp"

namespace millrace::simulation {

/// The journal as a standby sees it: notes what is applied, and makes the standby's mistakes.
class StandbyJournal final : public SharedJournal {
 public:
  struct Parts {
    SharedJournal& journal;
    Mistake mistake = Mistake::kNone;
    /// Makes the journal's clock show a time later by that; zero again afterwards.
    std::function<void(Duration)> skew;
    Duration patience;  ///< after which a standby may claim in any case
    std::function<void(std::string_view entry)> on_applied;
  };
  explicit StandbyJournal(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] Outcome<Followed> follow(const Visitor& visitor) override {
    while (!kept_back_.empty()) {
      const auto [batch, begin] = std::move(kept_back_.front());
      kept_back_.pop_front();
      if (auto visited = apply(visitor, batch, begin); !visited) return visited.error();
    }
    return parts_.journal.follow([&](std::string_view batch, Lsn begin) -> Outcome<Done> {
      if (parts_.mistake != Mistake::kUnreadClaim) return apply(visitor, batch, begin);
      kept_back_.emplace_back(batch, begin);
      return Done{};
    });
  }

  [[nodiscard]] bool has_caught_up() const override { return parts_.journal.has_caught_up(); }
  [[nodiscard]] bool may_claim() const override {
    if (parts_.mistake == Mistake::kEarlyClaim) parts_.skew(parts_.patience);
    const bool may = parts_.journal.may_claim();
    parts_.skew(Duration{});
    return may;
  }
  void claim() override {
    if (parts_.mistake == Mistake::kEarlyClaim) parts_.skew(parts_.patience);
    parts_.journal.claim();
    parts_.skew(Duration{});
  }

  [[nodiscard]] bool may_answer() const override { return parts_.journal.may_answer(); }
  void beat() override { parts_.journal.beat(); }
  [[nodiscard]] Time next_beat() const override { return parts_.journal.next_beat(); }
  [[nodiscard]] Time lost_at() const override { return parts_.journal.lost_at(); }
  void release() override { parts_.journal.release(); }
  [[nodiscard]] Time latest_time() const override { return parts_.journal.latest_time(); }
  [[nodiscard]] std::optional<Leader> leader() const override { return parts_.journal.leader(); }
  [[nodiscard]] std::string problem() const override { return parts_.journal.problem(); }
  [[nodiscard]] Figures figures() const override { return parts_.journal.figures(); }
  [[nodiscard]] const std::vector<Takeover>& takeovers() const override {
    return parts_.journal.takeovers();
  }
  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override {
    return parts_.journal.replay(
        [&](std::string_view batch, Lsn begin) { return apply(visitor, batch, begin); });
  }
  [[nodiscard]] Epoch epoch() const override { return parts_.journal.epoch(); }
  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    return parts_.journal.append(epoch, std::move(batch));
  }
  [[nodiscard]] Lsn durable() const override { return parts_.journal.durable(); }
  [[nodiscard]] Durability durability() const override { return parts_.journal.durability(); }
  void on_durable(std::function<void()> wake) override {
    parts_.journal.on_durable(std::move(wake));
  }
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    return parts_.journal.read(begin, size);
  }
  void expect(Lsn begin, std::size_t size) override { parts_.journal.expect(begin, size); }
  [[nodiscard]] Extent extent() const override { return parts_.journal.extent(); }
  std::size_t trim(Lsn before) override { return parts_.journal.trim(before); }
  void sync() override { parts_.journal.sync(); }
  [[nodiscard]] const DiskSpace* disk_space() const override { return parts_.journal.disk_space(); }

 private:
  Outcome<Done> apply(const Visitor& visitor, std::string_view batch, Lsn begin) {
    parts_.on_applied(batch);
    return visitor(batch, begin);
  }

  Parts parts_;
  std::deque<std::pair<std::string, Lsn>> kept_back_;
};

}  // namespace millrace::simulation
