#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/broker/features/activity.hpp"
#include "core/model/types.hpp"
#include "http/kit/json.hpp"
#include "http/routes/attention.hpp"

namespace millrace::http {

/// What an alert tells of.
struct AlertCondition {
  enum class Kind { kConcern, kLatency, kDead, kTakeover };

  std::string text;  ///< names it among those of its alert: "disk", "latency of mail* over 5m"
  Kind kind = Kind::kConcern;
  std::string concern = {};                                    ///< of Attention: its kind
  std::function<bool(std::string_view queue)> has_queue = {};  ///< empty: all have it
  Duration span{};         ///< a job waits longer than that; or, in which the dead jobs are counted
  std::uint64_t dead = 0;  ///< so many more are dead
};

/// An `[[alert]]`.
struct AlertRule {
  enum class Form { kJson, kSlack, kPagerDuty };

  std::string name;
  Form form = Form::kJson;
  std::string receiver;          ///< as it may be shown: no path, no query
  std::string routing_key = {};  ///< of PagerDuty
  Duration hold = 1min;          ///< fires after that, and is over after that
  Duration repeat = 4h;          ///< 0: it is sent once
  std::vector<AlertCondition> conditions = {};
};

inline constexpr std::size_t kAlertsMax = 20;
inline constexpr std::size_t kAlertConditionsMax = 20;  ///< of each

/// A condition of an alert, by number: one more than there are means a test.
struct AlertPlace {
  std::size_t alert = 0;
  std::size_t condition = 0;
};

struct AlertMessage {
  AlertPlace place;
  bool is_firing = false;  ///< else it is over
  std::string body;
};

struct AlertResult {
  AlertPlace place;
  bool is_firing = false;
  unsigned tries = 0;
  std::string problem;  ///< empty: it was delivered
};

/// Finds out which alerts fire, some queues in a turn, and what is to be sent. A condition has one
/// message on its way at most: so what is not delivered never piles up.
class Alerts {
 public:
  static constexpr Duration kInterval = 5s;
  static constexpr Duration kTurnPause = 1ms;
  /// A turn looks at queues so often, for each condition.
  static constexpr std::size_t kLooksATurn = 10'000;
  /// After a message could not be sent, the next one.
  static constexpr Duration kFailurePause = 15min;
  /// So long a takeover is told of.
  static constexpr Duration kTakeoverSpan = 5min;

  /// From now on. An alert that keeps its name and a condition goes on with it.
  void set(std::vector<AlertRule> rules);

  /// This server has come to lead; `was_standby`: another one did in between, and what still fires
  /// is told anew.
  void take_over(Time now, bool was_standby);

  /// Looks at some queues, if it is time. To be called at `next_due`.
  void work(const Site& site, const SystemFacts& system, Time now);
  [[nodiscard]] Time next_due() const { return alerts_.empty() ? kNever : next_; }

  /// What is to be sent since the last call.
  [[nodiscard]] std::vector<AlertMessage> take() { return std::exchange(outbox_, {}); }
  /// What became of one. Activity is told.
  void note(const AlertResult& result, Activity& activity, Time now);

  /// How many messages were delivered, and given up.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

  [[nodiscard]] Json show(WallClock clock) const;
  // False: there is no such alert.
  [[nodiscard]] bool silence(std::string_view name, Time until);
  [[nodiscard]] bool test(std::string_view name, Time now);

  /// What another process must know: silences, and which receivers were told that something fires.
  [[nodiscard]] Json save() const;
  /// Throws `Json::exception`, and has changed nothing then.
  void restore(const Json& saved);

 private:
  struct Found {
    std::vector<Concern> worst;  ///< `kConcernsOfKindMax` at most
    std::size_t count = 0;

    /// What `show` returns, if there is room for it.
    template <typename Show>
    void add(const Show& show) {
      ++count;
      if (worst.size() < kConcernsOfKindMax) worst.push_back(show());
    }
  };
  struct State {
    Found found;
    Found next;          ///< of the round at hand
    bool holds = false;  ///< there is something
    Time since{};        ///< `holds` is so
    bool is_sending = false;
    bool is_told = false;  ///< the receiver knows that it fires
    Time told_since{};     ///< since when, and of what
    std::string told = {};
    Time next_at{};     ///< while it holds, nothing is sent before
    Time not_before{};  ///< a message could not be sent: the next try
    std::deque<std::pair<Time, std::uint64_t>> dead =
        {};  ///< jobs that were dead, the oldest first
  };
  struct Alert {
    AlertRule rule;
    Time silenced_until{};
    std::vector<State> states;  ///< of the conditions, and of the test
    AlertResult last = {};
    Time last_at{};  ///< of the last result; the epoch: there was none
  };

  void look_at(const QueueFigures& figures, Time now);
  void conclude(const Situation& situation, const Site& site, Time now);
  void look_at_dead(const AlertCondition& condition, State& state, std::uint64_t dead, Time now);
  void step(AlertPlace place, const Site& site, Time now);
  [[nodiscard]] static std::string summary_of(const Found& found);
  [[nodiscard]] static Json show(const Alert& alert, WallClock clock);
  [[nodiscard]] Alert* find(std::string_view name);

  std::vector<Alert> alerts_;
  std::size_t conditions_ = 0;  ///< of all alerts
  std::optional<Inspection> inspection_;
  std::vector<AlertMessage> outbox_;
  Time next_{};
  std::optional<Time> took_over_at_;
  std::uint64_t messages_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t failed_ = 0;
};

inline constexpr const char* kTestCondition = "test";

}  // namespace millrace::http
