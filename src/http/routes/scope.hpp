#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "access/users.hpp"
#include "core/broker/view.hpp"
#include "core/model/queue.hpp"
#include "http/kit/message.hpp"
#include "http/routes/measures/trend.hpp"
#include "http/routes/queue_view.hpp"

/// What of the server a user may see or change.
namespace millrace::http {

/// The queues for which the caller of a request has the right that its route needs: the answer is
/// cut to them.
class Scope {
 public:
  Scope(access::Caller caller, access::Right right) : caller_(std::move(caller)), right_(right) {}

  /// All queues, also those that do not exist.
  [[nodiscard]] bool is_all() const { return caller_.may_everywhere(right_); }
  [[nodiscard]] bool has(std::string_view queue) const { return caller_.may(right_, queue); }
  /// Empty: nobody in particular.
  [[nodiscard]] std::string_view user() const { return caller_.name(); }
  /// 403: the right is needed there.
  [[nodiscard]] Response refuse_for(std::string_view where) const;

 private:
  access::Caller caller_;
  access::Right right_;
};

/// What queues hold, and what has happened to them, added up.
struct QueueSums {
  absl::flat_hash_set<std::uint64_t> queues;  ///< by their places in the order of creation
  std::array<std::uint64_t, kJobStateCount> jobs{};
  std::uint64_t enqueued = 0;  ///< these three since the start of the process
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
  double enqueued_per_s = 0;
  double processed_per_s = 0;
  double failed_per_s = 0;

  void add(const Queue& queue, Time now);
};

/// The queues of a scope that existed a moment ago. To know them takes a walk over all queues: see
/// `with_queues`.
class ScopedQueues {
 public:
  [[nodiscard]] const Scope& scope() const { return scope_; }
  [[nodiscard]] bool is_all() const { return sums_ == nullptr; }
  [[nodiscard]] bool has(const Queue& queue) const {
    return sums_ == nullptr || sums_->queues.contains(queue.created);
  }
  /// How many jobs of that state they held then.
  [[nodiscard]] std::uint64_t count(JobState state, const View& view) const;
  [[nodiscard]] std::size_t size(const View& view) const;
  /// The name of the only one that a user may see, so that a walk need not pass all jobs; else
  /// empty.
  [[nodiscard]] std::string only(const View& view) const;
  /// Null: they are all queues, whose sums the broker has.
  [[nodiscard]] const QueueSums* sums() const { return sums_.get(); }

 private:
  friend class ScopeWalk;

  explicit ScopedQueues(Scope scope) : scope_(std::move(scope)) {}

  Scope scope_;
  /// Shared by the copies: they are large.
  std::shared_ptr<const QueueSums> sums_;
};

/// Finds the queues of a scope, some in each turn of the broker: a name takes longer to match than
/// a queue to count.
class ScopeWalk {
 public:
  explicit ScopeWalk(Scope scope) : queues_(std::move(scope)) {}

  /// One turn. True: it was the last one.
  bool work(const View& view, Time now);
  [[nodiscard]] const ScopedQueues& queues() const { return queues_; }

 private:
  static constexpr std::size_t kQueuesATurn = 1'000;

  ScopedQueues queues_;
  QueueWalk walk_;
  QueueSums sums_;
};

/// What comes and goes in a second now, over long enough for steady numbers.
[[nodiscard]] Trend::Rates rates_of(const ScopedQueues& queues, const Trend& trend);

/// 403: the user lacks the right there: "mail", "all queues".
[[nodiscard]] Response refuse_user(std::string_view user, access::Right needed,
                                   std::string_view where);

}  // namespace millrace::http
