#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/failure_watch.hpp"
#include "http/routes/measures/line.hpp"

namespace millrace::http {

/// How often each group of failures has occurred in the recent past, for charts, and what it is
/// called, for when no job has the failure any more. 2 kB each; see `MeasureCopy`.
class FailureSeries final : public FailureWatch {
 public:
  /// Of further groups nothing is kept: what they are called comes from outside. A group that did
  /// not occur for `kIdleAfter` makes room for one that does.
  static constexpr std::size_t kGroupsMax = 1000;
  static constexpr Duration kIdleAfter = 15min;

  void on_failed(const Failure& failure, JobId job, Time now) override;

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  /// Those that have occurred from then on.
  [[nodiscard]] std::vector<std::uint64_t> groups_since(Time begin) const;
  /// How many failures of the group (`failure_group_number`) came in each interval of a span that
  /// has ended at `ends`, the oldest first: fewer than `Span::points` if the first one came later.
  /// nullopt: nothing is kept of it.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> counts(std::uint64_t group,
                                                                 std::size_t span,
                                                                 std::int64_t ends) const;

  /// When the group occurred last; nullopt: nothing is kept of it.
  [[nodiscard]] std::optional<Time> last_at(std::uint64_t group) const;

  /// Which job failed with it last. 0: not known, such as after a restart.
  [[nodiscard]] JobId last_job(std::uint64_t group) const;

  struct Name {
    std::string type;
    std::string message;  ///< `normalized_message`; both are cut to `kNameBytesMax`
  };
  static constexpr std::size_t kNameBytesMax = 120;
  /// Null: nothing is kept of it.
  [[nodiscard]] const Name* name(std::uint64_t group) const;

  /// A group in a form that outlives the process.
  struct Saved {
    std::uint64_t number = 0;
    Name name;
    Time last_at{};
    std::string bytes = {};  ///< how often it occurred
  };
  /// nullopt: nothing is kept of it.
  [[nodiscard]] std::optional<Saved> save(std::uint64_t group) const;
  /// Takes over a group that an earlier process had: those first that occurred last. One that is
  /// not whole, or of a time to come, is left out.
  void restore(Saved saved, Time now);

 private:
  /// A ring of the intervals of a span. The interval i is at i modulo their number.
  struct Ring {
    std::int64_t begin = 0;     ///< the first interval
    std::int64_t last = 0;      ///< the interval of the last failure
    std::uint32_t current = 0;  ///< failures in it
  };
  static constexpr std::size_t kPoints =
      std::transform_reduce(kSpans.begin(), kSpans.end(), std::size_t{0}, std::plus(),
                            [](Span each) { return each.points; });
  struct Group {
    std::uint64_t number;
    Name name;
    Time last_at;
    JobId last_job = 0;
    std::array<Ring, kSpans.size()> rings{};
    std::array<SmallNumber, kPoints> points{};  ///< of the rings, one after the other
  };
  using Groups = std::list<Group>;

  /// Null: there is no room for it.
  [[nodiscard]] Group* find_or_admit(const Failure& failure, Time now);
  static void count_in(Group& group, std::size_t span, std::int64_t interval);

  Groups groups_;  ///< the one that occurred last first
  absl::flat_hash_map<std::uint64_t, Groups::iterator> places_;
};

}  // namespace millrace::http
