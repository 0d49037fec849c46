#pragma once

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

#include "core/broker/broker.hpp"
#include "core/ports/cron_board.hpp"
#include "server/cron/cron_item.hpp"
#include "server/process/logging.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Pushes the jobs of cron entries when they are due by the wall clock. Which runs were done is in
/// the log, so that no run is done twice; which were missed is seen from it.
class CronRunner final : public CronBoard, private Deadline {
 public:
  struct Parts {
    Ticker& ticker;
    Broker& broker;
    const Log& log;
    /// Takes a work unit as PUSH does, which was planned for a wall time.
    std::function<Result<JobId, PushRefusal>(std::string_view json, Time now, Time planned)> push;
    std::function<std::uint64_t()> random;
  };

  explicit CronRunner(Parts parts) : parts_(std::move(parts)) {}
  ~CronRunner() override { parts_.ticker.plan(*this, kNever); }

  /// These entries instead of those before. Runs that were planned before, and that jitter holds
  /// back, are done as the new entries say.
  void set(SharedCronTable table);

  /// This server serves from now on: before, and after `stop`, nothing runs.
  void begin();
  void stop();

  /// The wall clock was set.
  void look_again();

  // ---- for operators ----------------------------------------------------------------------------

  [[nodiscard]] std::size_t count() const override { return items().size(); }
  [[nodiscard]] std::vector<Entry> page(std::size_t begin, std::size_t limit) const override;
  [[nodiscard]] std::optional<Entry> find(std::string_view id) const override;
  [[nodiscard]] Result<std::string, PushRefusal> run_now(std::string_view id, Time now) override;
  Answer<Done> pause(std::string_view id, Time now) override;
  Answer<Done> resume(std::string_view id, Time now) override;

 private:
  using Place = std::size_t;  ///< of an entry in `table_`

  /// The run that is to be done next.
  struct Due {
    Time planned;
    bool is_done;     ///< false: no run that was planned until `planned` is done
    bool has_missed;  ///< runs before it will not be done
  };

  void expire(Time now) override;
  void compare_with_log(Time wall);
  void keep_held_runs(Time wall);
  void plan_next(Time now);
  void plan_item(Place place, Time wall);
  [[nodiscard]] Time next_look(const CronItem& item, Time wall);
  [[nodiscard]] Time begin_of(const CronItem& item, Time wall) const;
  void run_due(Place place, Time now);
  [[nodiscard]] Due choose(Place place, Time last, Time wall);
  [[nodiscard]] Result<std::string, PushRefusal> run(const CronItem& item, CronRun run, Time now);
  [[nodiscard]] std::string draw_jid() const;
  [[nodiscard]] Entry entry_of(const CronItem& item) const;
  [[nodiscard]] const std::vector<CronItem>& items() const { return table_->items; }
  [[nodiscard]] std::optional<Place> place_of(std::string_view id) const;
  [[nodiscard]] const CronEntry* known(const CronItem& item) const {
    return parts_.broker.view().cron().find(item.id);
  }
  [[nodiscard]] bool is_comparing() const {
    return must_compare_ || compared_ < items().size() || !gone_.empty();
  }
  [[nodiscard]] Time wall(Time now) const { return parts_.broker.view().wall_clock().shown(now); }

  Parts parts_;
  // Shared: see there.
  SharedCronTable table_ = std::make_shared<const CronTable>();
  /// Wall times at which entries are to be looked at: their next runs, with their jitter.
  absl::btree_set<std::pair<Time, Place>> plan_;
  std::vector<Time> planned_;  ///< of each entry, where it is in `plan_`; kNever: it is not
  SharedCronTable planned_by_ = table_;  ///< of which `planned_` has the places
  /// Of entries that have changed: the runs that were held back then, by id.
  TextMap<Time> held_;
  std::vector<Time> looked_;  ///< when the newest missed runs of each entry were looked for
  /// Until when missed runs of each entry were told of, where all are done.
  std::vector<Time> logged_until_;
  bool is_serving_ = false;
  bool must_compare_ = false;      ///< the entries or the clock have changed
  Place compared_ = 0;             ///< the entries before it are compared with the log
  std::vector<std::string> gone_;  ///< those that the log has, and no file any more
  bool is_waiting_for_room_ = false;
};

/// How many runs one slice does, and how long their jobs may be together; one is done in any case.
inline constexpr std::size_t kSliceRuns = 100;

/// A run that is later counts as missed.
inline constexpr Duration kCronLateMax = std::chrono::seconds(10);
/// So late may a missed run be that is done once.
inline constexpr Duration kCatchUpOneMax = std::chrono::hours(1);
/// While there is no room for jobs, it is tried again after this.
inline constexpr Duration kCronRoomInterval = std::chrono::seconds(1);

}  // namespace millrace::server
