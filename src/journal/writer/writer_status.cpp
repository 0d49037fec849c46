#include "journal/writer/writer_status.hpp"

#include <utility>

#include "base/check.hpp"

namespace millrace::journal {

void WriterStatus::on_change(std::function<void()> wake) {
  const std::lock_guard guard(wake_mutex_);
  wake_ = std::move(wake);
}

void WriterStatus::begin(Lsn durable, bool is_full, std::string problem) {
  {
    const std::lock_guard guard(problem_mutex_);
    problem_ = std::move(problem);
  }
  durable_.store(durable, std::memory_order_release);
  is_full_.store(is_full, std::memory_order_release);
}

void WriterStatus::set_durable(Lsn durable) {
  const Lsn before = durable_.load(std::memory_order_relaxed);
  CHECK(durable >= before);
  if (durable == before) return;
  durable_.store(durable, std::memory_order_release);
  wake();
}

std::string WriterStatus::problem() const {
  const std::lock_guard guard(problem_mutex_);
  return problem_;
}

bool WriterStatus::set_full(bool is_full, std::string problem) {
  if (is_full_.load(std::memory_order_relaxed) != is_full) {
    // First: whoever sees that it is full asks why.
    const std::lock_guard guard(problem_mutex_);
    problem_ = std::move(problem);
  }
  if (is_full_.exchange(is_full, std::memory_order_acq_rel) == is_full) return false;
  wake();
  return true;
}

void WriterStatus::wake() {
  const std::lock_guard guard(wake_mutex_);
  if (wake_) wake_();
}

}  // namespace millrace::journal
