#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/ports/shared_journal.hpp"
#include "journal/shared/shared_log.hpp"

namespace millrace::journal {

/// One server's journal over a `SharedLog`.
///
/// A leader knows where the log ends, so it places batches before the log has them, and sends each
/// with the place where it must be. Once one is refused, all later ones would be: the server is
/// deposed, and `durable()` does not move any more.
class SharedLogJournal final : public SharedJournal {
 public:
  enum class Sending {
    kAtOnce,   ///< `append` sends
    kStepped,  ///< `step` does, so that anything can happen before
  };

  /// `log` must outlive it. The log is trimmed in segments of about that length.
  SharedLogJournal(SharedLog& log, std::uint64_t segment_bytes, Sending sending)
      : log_(log), segment_bytes_(segment_bytes), sending_(sending) {}

  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override;
  [[nodiscard]] Outcome<std::optional<Lsn>> follow(Lsn from, const Visitor& visitor) override;
  [[nodiscard]] Result<Epoch, ClaimRefusal> claim(Lsn applied) override;
  [[nodiscard]] Epoch epoch() const override { return log_.epoch(); }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, std::string batch) override;
  [[nodiscard]] Lsn durable() const override { return durable_; }
  void on_durable(std::function<void()> wake) override { wake_ = std::move(wake); }
  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override;
  void expect(Lsn /*begin*/, std::size_t /*size*/) override {}
  [[nodiscard]] Extent extent() const override;
  std::size_t trim(Lsn before) override;
  void sync() override;

  /// Sends the oldest batch that waits. False: none does, or the server is deposed.
  bool step();

  /// How many batches wait to be sent.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  [[nodiscard]] bool send(const SharedLog::Entry& entry);
  [[nodiscard]] bool is_stored(const SharedLog::Entry& entry) const;
  [[nodiscard]] std::vector<Lsn> segments() const;

  SharedLog& log_;
  const std::uint64_t segment_bytes_;
  const Sending sending_;
  Epoch epoch_{};                         ///< in which this server leads, or led last
  std::deque<SharedLog::Entry> waiting_;  ///< placed, and not stored as far as is known
  Lsn end_ = 0;                           ///< where the next entry will be
  Lsn durable_ = 0;
  std::function<void()> wake_;
};

}  // namespace millrace::journal
