#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/shared/simulated_log.hpp"
#include "simulation/failover/mistake.hpp"

namespace millrace::simulation {

/// A process's connection to the log service. The world keeps the other end: what a process had
/// sent may arrive after its end.
class Link final : public journal::LogService {
 public:
  using Sequence = journal::Sequence;

  Link(std::shared_ptr<journal::SimulatedLogService> service, Mistake mistake)
      : service_(std::move(service)), mistake_(mistake) {}

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override {
    return service_->message_count(bytes);
  }
  [[nodiscard]] Outcome<Extent> extent() override { return service_->extent(); }
  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override {
    return service_->follow(after, bytes_max, longest);
  }
  void append(Entry entry) override { service_->append(std::move(entry)); }
  [[nodiscard]] std::vector<Answer> answers(Duration longest) override {
    std::vector<Answer> answers = service_->answers(longest);
    if (mistake_ != Mistake::kGuessedAppend) return answers;
    for (Answer& answer : answers) {
      if (answer.refusal == Refusal::kUnknown) answer.refusal.reset();
    }
    return answers;
  }
  [[nodiscard]] Outcome<Done> trim(Sequence before) override { return service_->trim(before); }
  void wake() noexcept override { service_->wake(); }

 private:
  const std::shared_ptr<journal::SimulatedLogService> service_;
  const Mistake mistake_;
};

}  // namespace millrace::simulation
