#include "server/turn/kept_input.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

KeptInput::~KeptInput() {
  CHECK(bytes_ == 0 && keepers_.empty());
}

void KeptInput::change(InputKeeper& keeper, std::size_t bytes) {
  const bool has_executed = bytes < keeper.bytes_;
  bytes_ += bytes;
  bytes_ -= keeper.bytes_;
  keeper.bytes_ = bytes;
  if (keeper.place_ && (has_executed || bytes <= kPipelinedBytesMax)) {
    stop_waiting(keeper);
    keepers_.erase(*std::exchange(keeper.place_, std::nullopt));
  }
  if (!keeper.place_ && bytes > kPipelinedBytesMax) {
    keeper.place_ = keepers_.insert(keepers_.end(), &keeper);
  }
  if (chosen_ == &keeper && has_executed) choose_nobody();
  if (bytes_ < parts_.bytes_max) {
    if (chosen_ != nullptr) choose_nobody();
    if (waiting_count_ > 0) let_all_ask();
  } else if (waiting_count_ > 0) {
    choose();
  }
}

bool KeptInput::admits_beyond(InputKeeper& keeper) {
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
  if (found == keepers_.end()) return choose_nobody();
  if (*found == chosen_) return;
  chosen_ = *found;
  if (chosen_->is_waiting_) {
    stop_waiting(*chosen_);
    chosen_->ask_again();
  }
  parts_.ticker.plan(*this, waiting_count_ == 0 ? kNever : parts_.clock.now() + kKeptInputTime);
}

void KeptInput::choose_nobody() {
  chosen_ = nullptr;
  parts_.ticker.plan(*this, kNever);
}

void KeptInput::let_all_ask() {
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
  CHECK(chosen_ != nullptr);
  if (waiting_count_ == 0) return;
  // During a pause nobody is read, and it is not to blame.
  if (parts_.turn.is_paused()) return parts_.ticker.plan(*this, now + kKeptInputTime);
  parts_.log.event("slow_sender_dropped", {{"bytes", chosen_->bytes_}});
  chosen_->drop();
}

}  // namespace millrace::server
