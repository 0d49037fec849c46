#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "http/routes/measures/line.hpp"

namespace millrace::http {

/// Keeps the recent past of the server, of its queues and of its types, for charts. It reads the
/// meters when an interval has ended, some of them in a turn: a job costs nothing more. In memory;
/// see `MeasureCopy`.
class Series {
 public:
  /// Of further queues nothing is kept. A queue that had no job for `kIdleAfter` makes room for one
  /// that has.
  static constexpr std::size_t kQueuesMax = 1000;
  static constexpr Duration kIdleAfter = 15min;
  /// How many meters a turn reads.
  static constexpr std::size_t kMetersATurn = 100;
  /// Between two turns in which meters are read.
  static constexpr Duration kTurnPause = 1ms;

  /// Reads some meters, if it is time. To be called at `next_due`.
  void work(const Broker& broker, Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// Null: nothing is kept of it, or not yet.
  [[nodiscard]] const Line* server() const { return server_ ? &*server_ : nullptr; }
  [[nodiscard]] const Line* find_queue(std::string_view name) const;
  [[nodiscard]] const Line* find_type(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> queue_names() const;
  /// At most `TypeMeters::kTypesMax`, besides the one for all others.
  [[nodiscard]] std::vector<std::string> type_names() const;

  struct NamedLine {
    std::string name;
    Line line;
  };
  /// All that is kept, in a form that outlives the process.
  struct Lines {
    std::optional<Line> server;
    std::vector<NamedLine> queues;
    std::vector<NamedLine> types;
  };
  /// Takes over what an earlier process had within the longest span. To be called before the first
  /// `work`.
  void restore(Lines lines, Time now);

  /// Up to when all lines are complete.
  [[nodiscard]] const Ends& ends() const { return ends_; }

 private:
  /// No queue has that number.
  static constexpr std::uint64_t kNotRead = UINT64_MAX;

  struct QueueLine {
    std::string name;
    std::uint64_t created;   ///< of the queue that had the name when it was read last
    std::int64_t active_at;  ///< the interval of the shortest span in which it was last active
    Line line;
  };
  struct TypeLine {
    const TypeMeter* meter;
    std::unique_ptr<Line> line;
  };

  /// In the lines that an earlier process had.
  void leave_gaps();
  void begin_round(const Broker& broker, Time now);
  void read(const Queue& queue);
  void read_types();
  void admit(const Queue& queue);
  [[nodiscard]] bool forget_idle();
  void find_new_types(const TypeMeters& types);
  void end_round(const View& view);

  std::optional<Line> server_;
  Reading times_;  ///< of all queues of which lines are kept, added up
  TextMap<std::unique_ptr<QueueLine>> queues_;
  absl::flat_hash_map<std::uint64_t, QueueLine*> by_creation_;
  TextMap<std::size_t> type_places_;  ///< in the next member
  std::vector<TypeLine> types_;
  TextMap<std::unique_ptr<Line>> former_types_;  ///< restored, of types that have not run since
  bool is_restored_ = false;                     ///< and no round has ended since

  Time next_ = Time::min();
  Ends ends_{};

  // Of the round at hand.
  bool is_in_round_ = false;
  Ends round_ends_{};
  std::uint64_t next_queue_ = 0;  ///< in the order of creation
  std::uint64_t queues_end_ = 0;
  std::uint64_t new_queues_ = 0;  ///< those from there on came since the last round
  bool had_room_ = true;          ///< for more lines, at its beginning
  std::size_t next_type_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> idle_;  ///< the longest idle one last
};

}  // namespace millrace::http
