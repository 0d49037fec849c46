#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"
#include "core/state/throttle/throttle.hpp"

namespace millrace {

/// When a throttle is to be looked at, since a slot or a token becomes free by time.
class ThrottleAlarms {
 public:
  /// Then, or before.
  void set(Throttle& throttle, Time at);
  /// The same, when its next token comes, if it lacks one.
  void await_token(Throttle& throttle, Time now);
  void clear(Throttle& throttle);
  /// The throttle whose alarm is the first that rings by now; null: none. Its alarm is off.
  [[nodiscard]] Throttle* take(Time now);
  [[nodiscard]] Time next() const { return alarms_.empty() ? kNever : alarms_.begin()->first; }

 private:
  absl::btree_set<std::pair<Time, Throttle*>> alarms_;
};

/// The throttles by name, and what is stored of them: the limits that an operator set, and the time
/// of each bucket. Those of queues that are not there are there for what is stored.
class ThrottleTable : public LiveRecords<ThrottleTable> {
 public:
  using Place = std::uint32_t;
  using ByName = absl::btree_map<std::string, Place, std::less<>>;

  [[nodiscard]] const ByName& by_name() const { return names_; }
  /// Up to `limit` of them with names after `after`, by name. Those whose limits are stored though
  /// the queue is not there have no `Throttle::queue`.
  void page(std::string_view after, std::size_t limit,
            const std::function<void(const Throttle&)>& visit) const;
  [[nodiscard]] const Throttle& at(Place place) const { return *throttles_[place]; }
  [[nodiscard]] Throttle& at(Place place) { return *throttles_[place]; }
  /// Null: it is gone. Its place may be another's by now.
  [[nodiscard]] Throttle* if_there(Place place) { return throttles_[place].get(); }
  [[nodiscard]] const Throttle* find(std::string_view name) const;
  [[nodiscard]] std::size_t by_hand_count() const { return by_hand_count_; }

  /// The throttle of that name; made if there is none. It stays where it is until it is collected.
  [[nodiscard]] Throttle& open(std::string_view name);
  /// Names of queues and types come from clients: a throttle that is not needed any more is gone.
  void collect(Throttle& throttle);

  [[nodiscard]] ThrottleAlarms& alarms() { return alarms_; }
  [[nodiscard]] const ThrottleAlarms& alarms() const { return alarms_; }

  void set_full_at(Throttle& throttle, Time full_at);
  /// The throttle with a bucket that is full by now, and of which nothing else is stored: its
  /// record is needed no more.
  [[nodiscard]] const Throttle* first_full(Time now);
  [[nodiscard]] Time next_full() const {
    return buckets_.empty() ? kNever : buckets_.begin()->first;
  }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ThrottleChanged&& record);
  void apply(ThrottleRemoved&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

  // Buckets are written when the batch ends.
  [[nodiscard]] bool has_unwritten() const { return !changed_.empty(); }
  std::size_t write(std::string& batch);

 private:
  friend LiveRecords;
  [[nodiscard]] LogNode& node_of(Place place) { return *at(place).log; }
  [[nodiscard]] ThrottleChanged record_in(Place place) const;
  void look_at_bucket(Throttle& throttle, Time at);
  void enter_log(Throttle& throttle);
  void leave_log(Throttle& throttle);

  std::vector<std::unique_ptr<Throttle>> throttles_;
  std::vector<Place> free_places_;
  ByName names_;
  std::size_t by_hand_count_ = 0;
  ThrottleAlarms alarms_;
  absl::btree_set<std::pair<Time, Place>> buckets_;  ///< when to look whether they are full
  std::vector<Place> changed_;
};

}  // namespace millrace
