#include "server/turn/kept_input.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"

namespace millrace::server {

KeptInput::~KeptInput() {
  CHECK(bytes_ == 0 && keepers_.empty());
}

void KeptInput::change(InputKeeper& keeper, std::size_t bytes, bool is_at_work) {
  const bool has_executed = bytes < keeper.bytes_;
  bytes_ += bytes;
  bytes_ -= keeper.bytes_;
  keeper.bytes_ = bytes;
  keeper.is_at_work_ = is_at_work;
  requeue(keeper, has_executed);
  if (this->bytes() < parts_.bytes_max) return admit_all();
  if (has_executed && chosen_ == &keeper) clear_chosen();
  if (waiting_count_ > 0) choose();
}

void KeptInput::change_left_behind(std::size_t bytes) {
  left_behind_bytes_ = bytes;
  if (this->bytes() < parts_.bytes_max) return admit_all();
  if (waiting_count_ > 0) choose();
}

/// One that has executed something goes to the end.
void KeptInput::requeue(InputKeeper& keeper, bool has_executed) {
  const bool is_long = keeper.bytes_ > kPipelinedBytesMax;
  if (keeper.place_ && (has_executed || !is_long)) {
    stop_waiting(keeper);
    keepers_.erase(*std::exchange(keeper.place_, std::nullopt));
  }
  if (is_long && !keeper.place_) keeper.place_ = keepers_.insert(keepers_.end(), &keeper);
}

bool KeptInput::admits_over_limit(InputKeeper& keeper) {
  if (!keeper.place_) return true;
  choose();
  if (chosen_ == &keeper) return true;
  if (std::exchange(keeper.is_waiting_, true)) return false;
  if (++waiting_count_ == 1) parts_.ticker.plan(*this, parts_.clock.now() + kKeptInputTime);
  return false;
}

/// One that is held up by something else, such as replies that it does not read, would get no
/// further by being read.
void KeptInput::choose() {
  const auto found = std::find_if(keepers_.begin(), keepers_.end(),
                                  [](const InputKeeper* keeper) { return keeper->wants_input(); });
  if (found == keepers_.end()) return clear_chosen();
  if (*found == chosen_) return;
  const auto is_at_work = [](const InputKeeper* keeper) { return keeper->is_at_work_; };
  if (left_behind_bytes_ > 0 || std::any_of(keepers_.begin(), keepers_.end(), is_at_work)) {
    return clear_chosen();
  }
  chosen_ = *found;
  if (chosen_->is_waiting_) {
    stop_waiting(*chosen_);
    chosen_->ask_again();
  }
  parts_.ticker.plan(*this, waiting_count_ == 0 ? kNever : parts_.clock.now() + kKeptInputTime);
}

void KeptInput::clear_chosen() {
  chosen_ = nullptr;
  parts_.ticker.plan(*this, kNever);
}

void KeptInput::admit_all() {
  if (chosen_ != nullptr) clear_chosen();
  if (waiting_count_ == 0) return;
  for (InputKeeper* keeper : keepers_) {
    if (!keeper->is_waiting_) continue;
    stop_waiting(*keeper);
    keeper->ask_again();
  }
}

void KeptInput::stop_waiting(InputKeeper& keeper) {
  if (std::exchange(keeper.is_waiting_, false)) --waiting_count_;
}

void KeptInput::expire(Time now) {
  if (chosen_ == nullptr || waiting_count_ == 0) return;
  // During a pause nobody is read, and it is not to blame.
  if (parts_.turn.is_paused()) return parts_.ticker.plan(*this, now + kKeptInputTime);
  parts_.log.event("slow_sender_dropped", {{"bytes", chosen_->bytes_}});
  chosen_->drop();
}

}  // namespace millrace::server
