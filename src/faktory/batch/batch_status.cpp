#include "faktory/batch/batch_status.hpp"

#include <string_view>

#include "core/model/features/bid.hpp"
#include "core/state/batches/job_batches.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

std::string_view state_of(const JobBatch& batch, BatchRole role) {
  switch (batch.fields.callback(role)) {
    case CallbackState::kNone:
    case CallbackState::kWaiting:
      return "";
    case CallbackState::kEnqueued:
      return "1";
    case CallbackState::kSucceeded:
      return "2";
    case CallbackState::kGone:
      // Of `success`, only an ACK counts.
      return role == BatchRole::kComplete ? "2" : "1";
  }
  return "";
}

}  // namespace

std::string render_batch_status(const JobBatch& batch, WallClock clock) {
  const JobBatchAdded added = JobBatches::added_of(batch);
  std::string out = R"({"bid":")" + format_bid(batch.id) + '"';
  if (batch.parent != 0) out += R"(,"parent_bid":")" + format_bid(batch.parent) + '"';
  out += R"(,"description":)";
  append_json_string(added.description, out);
  out += R"(,"created_at":")" + format_time(clock.shown(added.created_at)) + '"';
  out += R"(,"total":)" + std::to_string(batch.fields.total);
  out += R"(,"pending":)" + std::to_string(batch.fields.pending);
  out += R"(,"failed":)" + std::to_string(batch.fields.failed());
  out.append(R"(,"complete_st":")").append(state_of(batch, BatchRole::kComplete));
  out.append(R"(","success_st":")").append(state_of(batch, BatchRole::kSuccess));
  return out.append("\"}");
}

}  // namespace millrace::faktory
