#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/model/entry_head.hpp"
#include "journal/shared/simulated_log.hpp"
#include "simulation/model/model.hpp"
#include "simulation/shadow.hpp"

namespace millrace::simulation {

/// What a batch changed, which a leader has appended.
struct Landmark {
  std::uint64_t epoch = 0;
  std::string batch;
  Facts facts;  ///< of the model, with this batch
};

/// Reads the log service's log, right behind what is stored, and keeps the state that it tells of.
/// It demands that the log has a beginning of what each leader appended, each batch once and in its
/// order, and that nothing of a leader counts after another one's claim.
class LogAudit {
 public:
  LogAudit(journal::SimulatedLog& log, const WorkUnitFormat& format);

  /// The leader has appended it.
  void expect(Landmark landmark) { expected_.push_back(std::move(landmark)); }

  /// The leader is none any more, so what it appended and was not stored never will be. Answers how
  /// many batches that are.
  std::size_t forget_expected();

  /// Reads on.
  void read();

  /// How many batches were stored by now, since the world began; and appended by the last leader
  /// besides.
  [[nodiscard]] std::uint64_t point() const { return point_; }
  [[nodiscard]] std::uint64_t expected_point() const { return point_ + expected_.size(); }

  /// Of the last claim in the log.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  /// Whether a server that has applied that batch last, and has read the log up to `seen`, has the
  /// state of all batches. The log may begin after the last one, and then it has applied none.
  [[nodiscard]] bool is_all(journal::Sequence applied, journal::Sequence seen) const {
    return applied == last_batch_ || (applied == 0 && seen >= last_batch_);
  }
  /// Of the model, after the last batch.
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] const Broker& broker() const { return shadow_.broker; }

  /// Whoever reads all that the log has now gets that state.
  void check_whole_log() const;

  [[nodiscard]] std::uint64_t claims() const { return claims_; }
  [[nodiscard]] std::uint64_t strays() const { return strays_; }
  [[nodiscard]] std::uint64_t beats() const { return beats_; }

 private:
  void take(const journal::LogService::Entry& entry);
  void take_batch(const EntryHead& head, const std::string& entry, std::string_view batch);

  journal::SimulatedLog& log_;
  const WorkUnitFormat& format_;
  journal::SimulatedLogService reader_;
  journal::Sequence seen_ = 0;
  Shadow shadow_;
  Lsn shadow_end_ = 0;
  std::deque<Landmark> expected_;
  std::uint64_t point_ = 0;
  std::uint64_t epoch_ = 0;
  journal::Sequence counted_ = 0;  ///< the last entry that does
  journal::Sequence last_batch_ = 0;
  Facts facts_;
  std::uint64_t claims_ = 0;
  std::uint64_t beats_ = 0;
  std::uint64_t strays_ = 0;
};

}  // namespace millrace::simulation
