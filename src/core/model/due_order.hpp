#pragma once

#include <cstddef>
#include <iterator>

#include "core/model/order.hpp"
#include "core/model/wall_clock.hpp"

namespace millrace {

/// Jobs by when they come due. Those that follow the wall clock have an order of their own: so when
/// that clock is set, no entry moves, however many there are.
struct DueOrder {
  TimeOrder steady;  ///< by `Job::when`, which is steady time
  TimeOrder wall;    ///< by `Job::when`, which is wall time: `Job::follows_wall`

  [[nodiscard]] std::size_t size() const { return steady.size() + wall.size(); }
  [[nodiscard]] bool empty() const { return steady.empty() && wall.empty(); }
};

/// Both parts of a `DueOrder`, which outlives this, as one order, soonest first. All entries that
/// it gives or takes have steady times.
class MergedDue {
 public:
  MergedDue(const DueOrder& order, WallClock clock) : order_(&order), clock_(clock) {}

  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = TimeEntry;
    using difference_type = std::ptrdiff_t;
    using pointer = const TimeEntry*;
    using reference = TimeEntry;

    Iterator(const MergedDue& due, TimeOrder::const_iterator steady, TimeOrder::const_iterator wall)
        : order_(due.order_), clock_(due.clock_), steady_(steady), wall_(wall) {}

    TimeEntry operator*() const { return is_wall_next() ? shifted(*wall_) : *steady_; }
    Iterator& operator++() {
      if (is_wall_next()) {
        ++wall_;
      } else {
        ++steady_;
      }
      return *this;
    }
    Iterator& operator--() {
      if (is_wall_previous()) {
        --wall_;
      } else {
        --steady_;
      }
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return steady_ == other.steady_ && wall_ == other.wall_;
    }

   private:
    [[nodiscard]] TimeEntry shifted(TimeEntry entry) const {
      entry.when = clock_.steady(entry.when);
      return entry;
    }
    [[nodiscard]] bool is_wall_next() const {
      if (wall_ == order_->wall.end()) return false;
      return steady_ == order_->steady.end() || shifted(*wall_) < *steady_;
    }
    [[nodiscard]] bool is_wall_previous() const {
      if (wall_ == order_->wall.begin()) return false;
      return steady_ == order_->steady.begin() || *std::prev(steady_) < shifted(*std::prev(wall_));
    }

    const DueOrder* order_;
    WallClock clock_;
    TimeOrder::const_iterator steady_;
    TimeOrder::const_iterator wall_;
  };

  [[nodiscard]] bool empty() const { return order_->empty(); }
  [[nodiscard]] std::size_t size() const { return order_->size(); }
  [[nodiscard]] Iterator begin() const {
    return {*this, order_->steady.begin(), order_->wall.begin()};
  }
  [[nodiscard]] Iterator end() const { return {*this, order_->steady.end(), order_->wall.end()}; }

  /// The first entry that is not before the given one; or the first that is after it.
  [[nodiscard]] Iterator lower_bound(const TimeEntry& entry) const {
    return {*this, order_->steady.lower_bound(entry), order_->wall.lower_bound(on_wall(entry))};
  }
  [[nodiscard]] Iterator upper_bound(const TimeEntry& entry) const {
    return {*this, order_->steady.upper_bound(entry), order_->wall.upper_bound(on_wall(entry))};
  }

 private:
  [[nodiscard]] TimeEntry on_wall(TimeEntry entry) const {
    entry.when = clock_.shown(entry.when);
    return entry;
  }

  const DueOrder* order_;
  WallClock clock_;
};

}  // namespace millrace
