#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

/// Knows the workers that were connected lately: on which host one ran that has left, and when
/// workers came with labels that none had before, which is a deploy. It looks at all workers now
/// and then, some of them in a turn.
class Fleet {
 public:
  static constexpr Duration kInterval = 5s;
  static constexpr Duration kTurnPause = 1ms;
  static constexpr std::size_t kWorkersATurn = 200;
  /// Of those that have left, the ones that left first are forgotten.
  static constexpr std::size_t kWorkersMax = 1000;
  /// Labels that no worker has had for so long are new when they come back.
  static constexpr Duration kLabelsKept = 10min;
  /// With more, labels tell workers from each other, and not versions: none are new.
  static constexpr std::size_t kLabelsMax = 20;

  struct Known {
    std::string hostname;
    std::int64_t pid = 0;
    Time seen_at{};
  };

  /// Looks at some workers, if it is time. Notes new labels in the broker's `Activity`. To be
  /// called at `next_due`.
  void work(Broker& broker, Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// Null: nothing is known of it.
  [[nodiscard]] const Known* find(std::string_view wid) const;

  /// For `MeasureCopy`. Throws if the JSON is not what `save` answers.
  [[nodiscard]] Json save() const;
  [[nodiscard]] static Fleet load(const Json& saved, Time now);

 private:
  void look_at(const Worker& worker, Broker& broker, Time now);
  void end_round(Time now);

  std::map<std::string, Known, std::less<>> workers_;
  std::map<std::string, Time, std::less<>> labels_;  ///< until when they were seen
  bool knows_labels_ = false;                        ///< a round has ended with some
  std::string place_;                                ///< the wid that was looked at last
  Time next_ = Time::min();
};

}  // namespace millrace::http
