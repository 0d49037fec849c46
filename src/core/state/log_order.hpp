#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "core/model/log_place.hpp"

namespace millrace {

/// The things of one kind in the order in which their newest whole records are in the log. A record
/// is only ever written at the log's end, so the order is a list. It is threaded through the things
/// themselves, whose nodes `node_of(slot)` finds: each step takes the same time however many there
/// are.
template <typename NodeOf>
class LogOrder {
 public:
  using Slot = std::uint32_t;

  explicit LogOrder(NodeOf node_of) : node_of_(std::move(node_of)) {}

  [[nodiscard]] std::optional<Slot> oldest() const {
    return oldest_ == kNoSlot ? std::nullopt : std::optional(oldest_);
  }

  /// Of the oldest thing. Nullopt when no record is in the log: what is not there yet will come
  /// after everything that is.
  [[nodiscard]] std::optional<Lsn> oldest_place() const {
    if (oldest_ == kNoSlot) return std::nullopt;
    const LogPlace place = node_of_(oldest_).place;
    return place.is_in_log() ? std::optional(place.lsn()) : std::nullopt;
  }

  /// The thing's whole record was written at this offset of the batch. It is not in the order.
  void push_newest(Slot slot, std::uint64_t offset) {
    node_of_(slot) = {.place = LogPlace::in_batch(offset), .older = newest_, .newer = kNoSlot};
    (newest_ == kNoSlot ? oldest_ : node_of_(newest_).newer) = slot;
    newest_ = slot;
    if (first_unplaced_ == kNoSlot) first_unplaced_ = slot;
  }

  void remove(Slot slot) {
    const LogNode node = node_of_(slot);
    Slot& next_of_older = node.older == kNoSlot ? oldest_ : node_of_(node.older).newer;
    Slot& next_of_newer = node.newer == kNoSlot ? newest_ : node_of_(node.newer).older;
    CHECK(next_of_older == slot && next_of_newer == slot);
    next_of_older = node.newer;
    next_of_newer = node.older;
    if (first_unplaced_ == slot) first_unplaced_ = node.newer;
  }

  /// The batch is in the log now, and begins there. `placed(slot)` is called for each thing whose
  /// newest whole record is in it.
  template <typename Placed>
  void place(Lsn begin, Placed&& placed) {
    for (Slot slot = first_unplaced_; slot != kNoSlot; slot = node_of_(slot).newer) {
      node_of_(slot).place.settle(begin);
      placed(slot);
    }
    first_unplaced_ = kNoSlot;
  }

 private:
  NodeOf node_of_;
  // kNoSlot at the ends, as in the nodes.
  Slot oldest_ = kNoSlot;
  Slot newest_ = kNoSlot;
  Slot first_unplaced_ = kNoSlot;  ///< what is newer is in the batch too
};

/// The same for a kind of which there is one thing.
class LonePlace {
 public:
  LonePlace() = default;
  explicit LonePlace(LogPlace place) : place_(place) {}

  [[nodiscard]] std::optional<Lsn> oldest_place() const {
    if (!place_ || !place_->is_in_log()) return std::nullopt;
    return place_->lsn();
  }
  /// The whole record was written into the batch.
  void write() { place_ = LogPlace::in_batch(0); }
  /// The log need not keep the record.
  void forget() { place_.reset(); }
  void place(Lsn begin) {
    if (place_ && !place_->is_in_log()) place_->settle(begin);
  }

 private:
  std::optional<LogPlace> place_;
};

}  // namespace millrace
