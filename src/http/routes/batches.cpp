#include <limits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/number.hpp"
#include "core/model/features/bid.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/batch_cause.hpp"
#include "http/routes/batch_view.hpp"
#include "http/routes/handlers.hpp"

/// Batches of jobs.
namespace millrace::http {
namespace {

/// How many batches one request looks at.
constexpr std::size_t kBatchesAtATime = 5'000;

struct BatchSearch {
  std::optional<BatchStage> stage;
  JobBatchId parent = 0;  ///< 0: all batches
  std::size_t limit = kPageDefault;
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();  ///< in the order of creation
};

Outcome<BatchSearch> read_batch_search(const Request& request) {
  BatchSearch list;
  if (const std::string_view state = request.param("state"); !state.empty()) {
    list.stage = parse_stage(state);
    if (!list.stage) return Problem{"state is not open, running, failed or succeeded"};
  }
  if (const std::string_view parent = request.param("parent"); !parent.empty()) {
    const auto id = parse_bid(parent);
    if (!id) return Problem{"parent is not the name of a batch"};
    list.parent = *id;
  }
  const Outcome<std::size_t> limit = read_limit(request);
  if (!limit) return limit.error();
  list.limit = *limit;
  if (const std::string_view cursor = request.param("cursor"); !cursor.empty()) {
    const auto before = parse_number<std::uint64_t>(cursor);
    if (!before) return Problem{kWrongCursor};
    list.before = *before;
  }
  return list;
}

/// A page of the list, newest first.
class BatchPage {
 public:
  BatchPage(const BatchSearch& list, const Call& call)
      : search_(list), site_(call.site), view_(call.site.broker.view()), now_(call.moment.now) {}

  Json collect() {
    if (search_.parent == 0) {
      const JobBatches::Creation& all = view_.batches().by_creation();
      walk(all.begin(), all.lower_bound(search_.before), [](Slot slot) { return slot; });
    } else {
      const JobBatches::Families& all = view_.batches().families();
      walk(all.lower_bound({search_.parent, 0}), all.lower_bound({search_.parent, search_.before}),
           [](const auto& entry) { return entry.second; });
    }
    return {{"batches", std::move(rows_)},
            {"total", view_.batches().size()},
            {"next", std::move(next_)}};
  }

 private:
  using Slot = JobBatches::Slot;

  template <typename Iterator, typename SlotOf>
  void walk(Iterator begin, Iterator end, const SlotOf& slot_of) {
    for (std::size_t steps = 0; end != begin; ++steps) {
      if (rows_.size() == search_.limit || steps == kBatchesAtATime) {
        next_ = std::to_string(view_.batches().at(slot_of(*end)).sequence);
        return;
      }
      --end;
      const JobBatch& batch = view_.batches().at(slot_of(*end));
      const bool is_asked = !search_.stage || stage_of(batch.fields, view_) == *search_.stage;
      if (is_asked) add(batch);
    }
  }
  void add(const JobBatch& batch) {
    rows_.push_back(row_of(batch, view_));
    rows_.back()["cause"] = show_cause(batch, site_, now_, kCauseStepsOfRow);
  }

  const BatchSearch& search_;
  const Site& site_;
  const View& view_;
  Time now_;
  Json rows_ = Json::array();
  Json next_ = nullptr;
};

const JobBatch* find_batch(const Call& call) {
  const auto id = parse_bid(call.name);
  return id ? call.site.broker.view().batches().find(*id) : nullptr;
}

Response say_no_batch() {
  return refuse(404, "there is no such batch; finished ones are kept for a day");
}

/// Changes the members in these states.
Response change_members(const Call& call, std::vector<JobState> states, Mutation::Action action,
                        std::string_view title) {
  const JobBatch* const batch = find_batch(call);
  if (batch == nullptr) return say_no_batch();
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(call.request.members);
  if (!bounds) return refuse(400, bounds.error().text);
  return begin_operation(call, {.states = std::move(states),
                                .batch = batch->id,
                                .action = action,
                                .bounds = *bounds,
                                .title = concat(title, " of batch ", call.name)});
}

}  // namespace

Response list_batches(const Call& call) {
  const Outcome<BatchSearch> list = read_batch_search(call.request);
  if (!list) return refuse(400, list.error().text);
  return {.body = dump(BatchPage(*list, call).collect())};
}

Response show_batch(const Call& call) {
  const JobBatch* const batch = find_batch(call);
  if (batch == nullptr) return say_no_batch();
  Json detail = detail_of(*batch, call.site.broker.view());
  detail["cause"] = show_cause(*batch, call.site, call.moment.now, kCauseSteps);
  return {.body = dump(detail)};
}

Response retry_batch(const Call& call) {
  return change_members(call, {JobState::kDead}, Mutation::Action::kRequeue, "retry dead members");
}

Response discard_batch(const Call& call) {
  return change_members(
      call, {JobState::kReady, JobState::kScheduled, JobState::kRetrying, JobState::kDead},
      Mutation::Action::kDiscard, "delete open members");
}

Response accept_batch(const Call& call) {
  const JobBatch* const batch = find_batch(call);
  if (batch == nullptr) return say_no_batch();
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(call.request.members);
  if (!bounds) return refuse(400, bounds.error().text);
  const auto accepted =
      call.site.broker.batches().accept_lost(batch->id, bounds->changes_max, call.moment.now);
  return {.body = dump({{"bid", call.name}, {"accepted", accepted.value()}}),
          .is_change = true,
          .changed = concat(accepted.value(), " lost members")};
}

Response delete_batch(const Call& call) {
  const JobBatch* const batch = find_batch(call);
  if (batch == nullptr) return say_no_batch();
  CHECK(call.site.broker.batches().remove(batch->id, call.moment.now));
  return {.body = dump({{"bid", call.name}}), .is_change = true};
}

}  // namespace millrace::http
