#include "simulation/failover/log_audit.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "simulation/audit/audit.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

using journal::LogService;
using journal::SimulatedLogService;

constexpr std::size_t kChunkBytes = std::size_t{1} << 30;

LogService::Chunk read_after(SimulatedLogService& service, journal::Sequence after) {
  auto chunk = service.follow(after, kChunkBytes, {});
  demand(chunk && !chunk->is_trimmed, "the log cannot be read");
  return std::move(*chunk);
}

}  // namespace

LogAudit::LogAudit(journal::SimulatedLog& log, const WorkUnitFormat& format)
    : log_(log),
      format_(format),
      reader_(log, SimulatedLogService::Delivery::kAtOnce),
      shadow_(format) {}

std::size_t LogAudit::forget_expected() {
  return std::exchange(expected_, {}).size();
}

void LogAudit::read() {
  if (log_.last() == seen_) return;
  const LogService::Chunk chunk = read_after(reader_, seen_);
  seen_ = chunk.seen;
  for (const LogService::Entry& entry : chunk.entries) take(entry);
}

void LogAudit::take(const LogService::Entry& entry) {
  std::string_view batch = entry.bytes;
  const auto head = take_head(batch);
  demand(head && *head, "the log has something that is no entry");
  demand((*head)->sequence == entry.first, "the log has an entry in the place of another one");
  const bool is_claim = (*head)->kind == EntryHead::Kind::kClaim;
  // It was sent behind others that were refused, and does not count.
  if (!is_claim && ((*head)->epoch < epoch_ || entry.first != counted_ + 1)) {
    ++strays_;
    return;
  }
  counted_ = entry.last;
  demand(is_claim ? (*head)->epoch > epoch_ : (*head)->epoch == epoch_,
         "the log has an entry of a server that does not lead");
  epoch_ = (*head)->epoch;
  claims_ += is_claim ? 1 : 0;
  beats_ += (*head)->kind == EntryHead::Kind::kBeat ? 1 : 0;
  if ((*head)->kind == EntryHead::Kind::kBatch) take_batch(**head, entry.bytes, batch);
}

void LogAudit::take_batch(const EntryHead& head, const std::string& entry, std::string_view batch) {
  demand(!expected_.empty() && expected_.front().epoch == head.epoch,
         "the log has a batch that its leader did not append");
  demand(expected_.front().batch == batch, "the log has another batch than its leader appended");
  last_batch_ = head.sequence;
  const Outcome<Done> replayed = shadow_.ledger.replay(entry, shadow_end_);
  demand(replayed.has_value(), "a batch cannot be replayed");
  shadow_end_ += entry.size();
  ++point_;
  facts_ = std::move(expected_.front().facts);
  expected_.pop_front();
}

void LogAudit::check_whole_log() const {
  SimulatedLogService service(log_, SimulatedLogService::Delivery::kAtOnce);
  Shadow reader(format_);
  Lsn end = 0;
  std::uint64_t epoch = 0;
  journal::Sequence counted = log_.begin() - 1;
  for (const LogService::Entry& entry : read_after(service, log_.begin() - 1).entries) {
    std::string_view batch = entry.bytes;
    const auto head = take_head(batch);
    const bool is_claim = (*head)->kind == EntryHead::Kind::kClaim;
    if (!is_claim && ((*head)->epoch < epoch || entry.first != counted + 1)) continue;
    epoch = (*head)->epoch;
    counted = entry.last;
    demand(reader.ledger.replay(entry.bytes, end).has_value(), "the log cannot be replayed");
    end += entry.bytes.size();
  }
  std::set<JobId> held;
  demand(stored_state(reader.broker, held) == stored_state(broker(), held),
         "what the log was trimmed to does not tell all that it told");
}

}  // namespace millrace::simulation
