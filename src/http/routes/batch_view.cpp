#include "http/routes/batch_view.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "core/model/features/bid.hpp"
#include "http/kit/input.hpp"

namespace millrace::http {
namespace {

constexpr std::array kStages = {
    std::pair(BatchStage::kOpen, "open"), std::pair(BatchStage::kRunning, "running"),
    std::pair(BatchStage::kFailed, "failed"), std::pair(BatchStage::kSucceeded, "succeeded")};

const char* word_of(BatchRole role) {
  switch (role) {
    case BatchRole::kMember:
      return "member";
    case BatchRole::kComplete:
      return "complete";
    case BatchRole::kSuccess:
      return "success";
    case BatchRole::kDeath:
      return "death";
  }
  return "";
}

const char* word_of(CallbackState state) {
  switch (state) {
    case CallbackState::kNone:
      return "none";
    case CallbackState::kWaiting:
      return "waiting";
    case CallbackState::kEnqueued:
      return "enqueued";
    case CallbackState::kSucceeded:
      return "succeeded";
    case CallbackState::kGone:
      return "gone";
  }
  return "";
}

/// Whether the batch goes on only when somebody retries the dead job of this callback.
bool is_stuck(const JobBatchFields& fields, BatchRole role, const View& view) {
  if (fields.callback(role) != CallbackState::kEnqueued) return false;
  const Job* const job = view.jobs().find(fields.callback_job(role));
  return job != nullptr && job->state == JobState::kDead;
}

/// The state of the callback's job; null: it is not there.
Json job_state_of(const JobBatchFields& fields, BatchRole role, const View& view) {
  if (fields.callback(role) != CallbackState::kEnqueued) return nullptr;
  const Job* const job = view.jobs().find(fields.callback_job(role));
  return job == nullptr ? Json(nullptr) : Json(http::name_of(job->state));
}

Json job_of(const JobBatchFields& fields, BatchRole role) {
  const JobId id = fields.callback_job(role);
  return id == 0 ? Json(nullptr) : Json(id);
}

Json show_callbacks(const JobBatch& batch, const View& view) {
  const JobBatchAdded added = JobBatches::added_of(batch);
  Json callbacks = Json::array();
  for (const BatchCallback& callback : added.callbacks) {
    const BatchRole role = callback.batch_role();
    callbacks.push_back({{"role", word_of(role)},
                         {"queue", callback.queue},
                         {"state", word_of(batch.fields.callback(role))},
                         {"job", job_of(batch.fields, role)},
                         {"job_state", job_state_of(batch.fields, role, view)}});
  }
  return callbacks;
}

Json count_members(const JobBatch& batch, const View& view) {
  Json counts;
  for (const JobState state : {JobState::kReserved, JobState::kRetrying, JobState::kDead,
                               JobState::kScheduled, JobState::kReady}) {
    counts[http::name_of(state)] = view.orders().members().of(batch.id, state).size();
  }
  return counts;
}

/// What keeps the batch from its success, in the order in which it is waited for.
class Blocks {
 public:
  Blocks(const JobBatch& batch, const View& view)
      : id_(batch.id), fields_(batch.fields), view_(view) {}

  Json list() {
    if (!fields_.has(JobBatchFields::kCommitted)) add("commit", 1);
    add("members", fields_.unexecuted);
    add("children", fields_.unsettled,
        [](const JobBatchFields& child) { return !child.is_settled(); });
    add_callback(BatchRole::kComplete);
    add("failed_members", fields_.failing);
    add("lost_members", fields_.lost);
    // A child that has succeeded is settled too.
    add("failed_children", fields_.unsuccessful - std::min(fields_.unsettled, fields_.unsuccessful),
        [](const JobBatchFields& child) { return child.is_settled() && !child.is_successful(); });
    add_callback(BatchRole::kSuccess);
    if (fields_.callback(BatchRole::kSuccess) == CallbackState::kGone) add("lost_callback", 1);
    return std::move(list_);
  }

 private:
  using IsMeant = bool (*)(const JobBatchFields& child);

  /// `is_meant` tells which children those are; null: none.
  void add(const char* what, std::uint64_t count, IsMeant is_meant = nullptr) {
    if (count == 0) return;
    list_.push_back({{"what", what},
                     {"count", count},
                     {"batches", is_meant == nullptr ? Json::array() : first_children(is_meant)},
                     {"job", nullptr},
                     {"job_state", nullptr}});
  }
  /// The first of those children, as far as they are found.
  [[nodiscard]] Json first_children(IsMeant is_meant) const {
    Json rows = Json::array();
    const JobBatches::Families& families = view_.batches().families();
    auto place = families.lower_bound({id_, 0});
    for (std::size_t steps = 0; steps < kBlockingSearchSteps && place != families.end() &&
                                place->first.first == id_ && rows.size() < kBlockingShownMax;
         ++steps, ++place) {
      const JobBatch& child = view_.batches().at(place->second);
      if (!is_meant(child.fields)) continue;
      rows.push_back({{"bid", format_bid(child.id)},
                      {"description", JobBatches::added_of(child).description}});
    }
    return rows;
  }
  void add_callback(BatchRole role) {
    if (fields_.callback(role) != CallbackState::kEnqueued) return;
    list_.push_back({{"what", word_of(role)},
                     {"count", 1},
                     {"batches", Json::array()},
                     {"job", job_of(fields_, role)},
                     {"job_state", job_state_of(fields_, role, view_)}});
  }

  JobBatchId id_;
  const JobBatchFields& fields_;
  const View& view_;
  Json list_ = Json::array();
};

/// The parent, its parent and so on; the outermost first.
Json show_ancestors(const JobBatch& batch, const View& view) {
  Json ancestors = Json::array();
  const JobBatch* each = view.batches().find(batch.parent);
  for (; each != nullptr && ancestors.size() < kAncestorsShownMax;
       each = view.batches().find(each->parent)) {
    ancestors.push_back(row_of(*each, view));
  }
  std::reverse(ancestors.begin(), ancestors.end());
  return ancestors;
}

/// The children of a batch, their children and so on, level by level while there is room.
class Descendants {
 public:
  explicit Descendants(const View& view) : view_(view) {}

  Json list(JobBatchId ancestor) {
    Json children = Json::array();
    parents_.push_back({.id = ancestor, .generation = 1, .children = &children});
    for (; !parents_.empty(); parents_.pop_front()) add_children(parents_.front());
    return children;
  }

 private:
  /// `children` is filled at once, so that pointers to its rows stay valid.
  struct Parent {
    JobBatchId id = 0;
    std::size_t generation = 1;  ///< of its children
    Json* children = nullptr;
  };

  void add_children(const Parent& parent) {
    std::vector<JobBatchId> ids;
    const JobBatches::Families& families = view_.batches().families();
    auto place = families.lower_bound({parent.id, 0});
    for (; place != families.end() && place->first.first == parent.id; ++place) {
      if (ids.size() == kChildrenShownMax || room_ == 0) break;
      --room_;
      const JobBatch& child = view_.batches().at(place->second);
      Json row = row_of(child, view_);
      row["child_list"] = Json::array();
      parent.children->push_back(std::move(row));
      ids.push_back(child.id);
    }
    if (parent.generation == kGenerationsShownMax) return;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Json& row = (*parent.children)[i];
      parents_.push_back({ids[i], parent.generation + 1, &row["child_list"]});
    }
  }

  const View& view_;
  std::deque<Parent> parents_;
  std::size_t room_ = kDescendantsShownMax;
};

}  // namespace

BatchStage stage_of(const JobBatchFields& fields, const View& view) {
  if (!fields.has(JobBatchFields::kCommitted)) return BatchStage::kOpen;
  if (fields.is_successful()) return BatchStage::kSucceeded;
  const bool has_failed = fields.is_settled() ||
                          (fields.is_executed() && (is_stuck(fields, BatchRole::kComplete, view) ||
                                                    is_stuck(fields, BatchRole::kSuccess, view)));
  return has_failed ? BatchStage::kFailed : BatchStage::kRunning;
}

const char* word_of(BatchStage stage) {
  return std::ranges::find(kStages, stage, [](const auto& each) { return each.first; })->second;
}

std::optional<BatchStage> parse_stage(std::string_view name) {
  for (const auto& [stage, known] : kStages) {
    if (name == known) return stage;
  }
  return std::nullopt;
}

Json row_of(const JobBatch& batch, const View& view) {
  const JobBatchFields& fields = batch.fields;
  const JobBatchAdded added = JobBatches::added_of(batch);
  return {{"bid", format_bid(batch.id)},
          {"parent_bid", batch.parent == 0 ? Json(nullptr) : Json(format_bid(batch.parent))},
          {"description", added.description},
          {"state", word_of(stage_of(fields, view))},
          {"created_at", show_time(added.created_at, view.wall_clock())},
          {"total", fields.total},
          {"pending", fields.pending},
          {"succeeded", fields.total - std::min(fields.total, fields.pending + fields.lost)},
          {"failed", fields.failed()},
          {"lost", fields.lost},
          {"members", count_members(batch, view)},
          {"children", fields.children}};
}

Json detail_of(const JobBatch& batch, const View& view) {
  const JobBatchFields& fields = batch.fields;
  const bool is_committed = fields.has(JobBatchFields::kCommitted);
  const Time deadline = JobBatches::deadline_of(batch);
  Json detail = row_of(batch, view);
  // An open one is dropped, or committed again, where nobody uses it; a finished one is forgotten.
  detail["idle_at"] = is_committed ? Json(nullptr) : show_time(deadline, view.wall_clock());
  detail["forgotten_at"] = is_committed ? show_time(deadline, view.wall_clock()) : Json(nullptr);
  detail["failing"] = fields.failing;
  detail["unexecuted"] = fields.unexecuted;
  detail["callbacks"] = show_callbacks(batch, view);
  detail["blocked_by"] = Blocks(batch, view).list();
  detail["ancestors"] = show_ancestors(batch, view);
  detail["child_list"] = Descendants(view).list(batch.id);
  return detail;
}

Json batch_of(const Job& job, const View& view) {
  if (!job.features || job.features->batch == 0) return nullptr;
  return {{"bid", format_bid(job.features->batch)},
          {"role", word_of(job.features->batch_role())},
          {"is_there", view.batches().find(job.features->batch) != nullptr}};
}

}  // namespace millrace::http
