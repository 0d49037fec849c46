#include "faktory/job/batch_maker.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "core/model/features/bid.hpp"
#include "core/state/batches/job_batches.hpp"
#include "faktory/job/read_features.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

std::string_view name_of(BatchRole role) {
  if (role == BatchRole::kComplete) return "complete";
  return role == BatchRole::kSuccess ? "success" : "death";
}

/// The client's members, and ours in the place of those of the same names.
std::string custom_of(std::string_view custom, JobBatchId batch, JobBatchId parent,
                      BatchRole role) {
  std::string all = "{";
  each_member(custom, [&](std::string_view name, std::string_view value) {
    if (means(name, "_bid") || means(name, "_pbid") || means(name, "_cb")) return;
    all.append(name).append(":").append(value).append(",");
  });
  all += R"("_bid":")" + format_bid(batch) + R"(",)";
  if (parent != 0) all += R"("_pbid":")" + format_bid(parent) + R"(",)";
  return all.append(R"("_cb":")").append(name_of(role)).append(R"("})");
}

RefusedJob wrong_type(std::string_view name) {
  return {JobReason::kInvalidJson, "member " + std::string(name) + " has the wrong type"};
}

/// A callback takes no lock and never expires. What would be refused in a job is refused all the
/// same.
std::optional<RefusedJob> refused_features(const Custom& custom) {
  JobMembers members;
  members.custom = custom;
  members.raw_args = "[]";
  NewJob job;
  return read_features(members, Time{}, no_secret, job);
}

/// False: it is another type of value.
bool read_string(std::string& text) {
  if (text.empty()) return true;
  if (!text.starts_with('"')) return false;
  text = meaning_of(text);
  return true;
}

}  // namespace

bool may_use(const access::Caller& caller, const JobBatch& batch) {
  if (!caller.is_limited()) return true;
  const JobBatchAdded added = JobBatches::added_of(batch);
  return std::ranges::all_of(added.callbacks, [&](const BatchCallback& callback) {
    return caller.may(access::Right::kPush, callback.queue);
  });
}

Result<BatchMaker::Asked, RefusedJob> BatchMaker::read(std::string_view json) {
  const std::string_view text = trimmed(json);
  if (!text.empty() && !text.starts_with('{') && text != "null") {
    return RefusedJob{JobReason::kInvalidJson, "a batch must be an object"};
  }
  const Outcome<JobMembers> members = reader_.read(json);
  if (!members) return RefusedJob{JobReason::kInvalidJson, members.error().text};
  Asked asked;
  for (const auto& [raw_name, value] : members->others) {
    const std::string name = meaning_of(raw_name);
    for (const auto& [known, field] :
         {std::pair("success", &asked.success), std::pair("complete", &asked.complete),
          std::pair("death", &asked.death), std::pair("description", &asked.description),
          std::pair("parent_bid", &asked.parent_bid)}) {
      if (equals_ignoring_case(name, known)) *field = value == "null" ? std::string_view{} : value;
    }
  }
  if (!read_string(asked.description)) return wrong_type("description");
  if (!read_string(asked.parent_bid)) return wrong_type("parent_bid");
  return asked;
}

std::string BatchMaker::random_jid() {
  constexpr std::size_t kBytes = 12;
  std::string bytes;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t number = broker_.batches().draw_number();
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift);
  }
  std::string jid = base64(std::string_view(bytes).substr(0, kBytes));
  std::ranges::replace(jid, '+', '-');
  std::ranges::replace(jid, '/', '_');
  return jid;
}

Result<BatchMaker::Callback, RefusedJob> BatchMaker::make(std::string_view json, const Of& of,
                                                          Time now) {
  if (!json.starts_with('{')) return wrong_type(name_of(of.role));
  Outcome<JobMembers> members = reader_.read(json);
  if (!members) return RefusedJob{JobReason::kInvalidJson, members.error().text};
  const Custom asked = std::exchange(members->custom, {});
  if (!asked.bid.empty()) return RefusedJob{JobReason::kCallbackInBatch, {}};
  if (auto refused = refused_features(asked)) return *refused;
  const std::string jid = random_jid();
  const std::string raw_jid = '"' + jid + '"';
  if (members->jid.empty()) {
    members->jid = jid;
    members->raw_jid = raw_jid;
  }
  if (members->raw_args.empty()) members->raw_args = "[]";
  const auto job = make_bodiless_job(*members, now, broker_.view().wall_clock(), no_secret);
  if (!job) return job.error();
  Callback made{.queue = std::string(job->queue), .body = {}, .callback = {}};
  const std::string custom = custom_of(asked.raw, of.batch, of.parent, of.role);
  members->custom.raw = custom;
  encode_work_unit(*members, made.body);
  made.callback = {.role = static_cast<std::uint32_t>(of.role),
                   .queue = {},
                   .body = {},
                   .pri = job->pri,
                   .ttr_s = job->ttr_s,
                   .delay_s = job->delay_s,
                   .due = job->due,
                   .jid_hash = asks_for_tracking(asked) ? jid_hash(members->jid) : 0,
                   .is_tracked = asks_for_tracking(asked)};
  return made;
}

Result<JobBatchId, RefusedJob> BatchMaker::add(std::string_view json, Time now,
                                               const access::Caller& caller) {
  Result<Asked, RefusedJob> asked = read(json);
  if (!asked) return asked.error();
  if (asked->success.empty() && asked->complete.empty()) {
    return RefusedJob{JobReason::kNoCallback, {}};
  }
  NewJobBatch batch{
      .id = broker_.batches().draw_id(), .parent = 0, .description = {}, .callbacks = {}};
  if (!asked->parent_bid.empty()) {
    batch.parent = parse_bid(asked->parent_bid).value_or(0);
    const std::string shown = asked->parent_bid.substr(0, kEchoedValueBytes);
    const JobBatch* const parent = broker_.view().batches().find(batch.parent);
    if (parent == nullptr || !may_use(caller, *parent)) {
      return RefusedJob{JobReason::kNoSuchBatch, shown};
    }
  }
  std::vector<Callback> callbacks;
  for (const auto& [role, text] : {std::pair(BatchRole::kComplete, &asked->complete),
                                   std::pair(BatchRole::kSuccess, &asked->success),
                                   std::pair(BatchRole::kDeath, &asked->death)}) {
    if (text->empty()) continue;
    auto made = make(*text, {.batch = batch.id, .parent = batch.parent, .role = role}, now);
    if (!made) return made.error();
    if (!caller.may(access::Right::kPush, made->queue)) return refused_for(caller, made->queue);
    callbacks.push_back(std::move(*made));
  }
  reader_.shrink();
  for (const Callback& made : callbacks) {
    batch.callbacks.push_back(made.callback);
    batch.callbacks.back().queue = made.queue;
    batch.callbacks.back().body = made.body;
  }
  batch.description = cut(asked->description, kBatchDescriptionBytesMax);
  // The parent is there.
  if (!broker_.batches().add(batch, now)) return RefusedJob{JobReason::kNoRoom, {}};
  return batch.id;
}

}  // namespace millrace::faktory
