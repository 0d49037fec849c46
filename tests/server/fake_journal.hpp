#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/ports/journal.hpp"

namespace millrace::server {

/// A journal whose disk is the test: nothing is durable before the test says so.
class FakeJournal final : public Journal, public DiskSpace {
 public:
  Outcome<Done> replay(const Visitor& visitor) override {
    Lsn begin = 0;
    for (const std::string& batch : to_replay) {
      if (before_batch) before_batch();
      if (auto visited = visitor(batch, begin); !visited) return visited;
      begin += batch.size();
    }
    end_ = begin;
    return Done{};
  }

  [[nodiscard]] Epoch epoch() const override { return leader; }

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    if (epoch != leader) return Deposed{.by = leader};
    const std::lock_guard guard(mutex_);
    const Lsn begin = end_;
    end_ += batch.size();
    batches_.push_back(std::move(batch));
    if (durable_when == Durability::kWhenAppended) durable_ = end_;
    return Span{.begin = begin, .end = end_};
  }

  Result<Span, Deposed> append_unhurried(Epoch epoch, RecordBatch batch) override {
    unhurried_count += 1;
    return append(epoch, std::move(batch));
  }
  void hurry() override { hurry_count += 1; }

  [[nodiscard]] std::size_t in_flight() const override { return batches_in_flight; }
  [[nodiscard]] Lsn durable() const override { return durable_; }
  [[nodiscard]] bool may_answer() const override { return may_answer_; }
  [[nodiscard]] Durability durability() const override { return durable_when; }

  void on_durable(std::function<void()> wake) override {
    const std::lock_guard guard(mutex_);
    wake_ = std::move(wake);
  }

  Outcome<std::string> read(Lsn, std::size_t) override { return Problem{"not kept"}; }
  void expect(Lsn, std::size_t) override {}
  [[nodiscard]] Extent extent() const override {
    const std::lock_guard guard(mutex_);
    Lsn end = 0;
    for (const std::string& batch : to_replay) end += batch.size();
    if (!has_segments || batches_.empty()) return {.end = std::max(end, end_)};
    return {.oldest_end = batches_.front().size(),
            .newest_begin = end_ - batches_.back().size(),
            .end = end_,
            .segment_bytes = batches_.front().size()};
  }
  std::size_t trim(Lsn) override { return 0; }
  void sync() override { sync_count += 1; }
  [[nodiscard]] const DiskSpace* disk_space() const override { return this; }

  [[nodiscard]] bool is_full() const override { return is_full_; }
  [[nodiscard]] std::uint64_t log_bytes_max() const override { return 0; }
  [[nodiscard]] bool is_oldest_shared() const override { return false; }
  [[nodiscard]] std::size_t segment_count() const override { return 1; }

  /// The disk has stored everything before `lsn`.
  void make_durable(Lsn lsn) {
    durable_ = lsn;
    const std::lock_guard guard(mutex_);
    if (wake_) wake_();
  }

  /// Whether the server certainly leads.
  void let_answer(bool may_answer) {
    may_answer_ = may_answer;
    const std::lock_guard guard(mutex_);
    if (wake_) wake_();
  }

  void set_full(bool is_full) {
    is_full_ = is_full;
    const std::lock_guard guard(mutex_);
    if (wake_) wake_();
  }

  [[nodiscard]] Lsn end() const {
    const std::lock_guard guard(mutex_);
    return end_;
  }

  [[nodiscard]] std::size_t batch_count() const {
    const std::lock_guard guard(mutex_);
    return batches_.size();
  }

  std::vector<std::string> to_replay;
  std::function<void()> before_batch;  ///< of a replay; may be empty
  bool has_segments = false;           ///< each batch is one, and none is removed
  std::atomic<int> sync_count = 0;
  std::size_t batches_in_flight = 0;
  std::atomic<int> unhurried_count = 0;
  std::atomic<int> hurry_count = 0;
  Durability durable_when = Durability::kWhenWritten;
  std::atomic<Epoch> leader = kOnlyEpoch;  ///< another one than the server's deposes it

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> batches_;
  Lsn end_ = 0;
  std::atomic<Lsn> durable_ = 0;
  std::atomic<bool> may_answer_ = true;
  std::atomic<bool> is_full_ = false;
  std::function<void()> wake_;
};

}  // namespace millrace::server
