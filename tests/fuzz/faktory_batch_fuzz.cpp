// A session that makes batches, over a server in memory: whatever is sent, what a batch counts is
// what its jobs are, and a restart finds it as it was.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "core/model/features/bid.hpp"
#include "core/state/ledger.hpp"
#include "support/in_memory_server.hpp"

namespace {

using namespace millrace;
using millrace::test::InMemoryServer;
using millrace::test::Protocol;

// So long waits a FETCH that finds nothing.
constexpr std::chrono::seconds kFetchWait{2};

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::array kTimedStates = {JobState::kScheduled, JobState::kReserved, JobState::kRetrying,
                                     JobState::kDead};

void check(bool holds) {
  if (!holds) std::abort();
}

/// What a batch should count of its jobs.
struct Members {
  std::uint64_t pending = 0;
  std::uint64_t failing = 0;
  std::uint64_t unexecuted = 0;
};

std::map<JobBatchId, Members> members_of_batches(const View& view) {
  std::map<JobBatchId, Members> all;
  const auto count = [&](const Job& job) {
    if (!job.features || !job.features->is_member()) return;
    Members& members = all[job.features->batch];
    ++members.pending;
    members.failing += job.has_mark(job_marks::kHasFailed) ? 1 : 0;
    members.unexecuted += job.has_mark(job_marks::kHasRun) ? 0 : 1;
  };
  for (const JobState state : kTimedStates) view.jobs().page(state, {}, kAll, count);
  for (const auto& [created, id] : view.queues().by_creation()) {
    view.jobs().page_ready(view.queues().at(id), {}, kAll, count);
  }
  return all;
}

void check_counts(const View& view) {
  auto members = members_of_batches(view);
  for (const JobBatches::Slot slot : view.batches().by_creation()) {
    const JobBatch& batch = view.batches().at(slot);
    const Members& of = members[batch.id];
    check(batch.fields.pending == of.pending && batch.fields.failing == of.failing);
    check(batch.fields.unexecuted == of.unexecuted);
    check(batch.fields.total >= of.pending + batch.fields.lost);
    // Everything that is due was done.
    check(!batch.fields.has_work());
  }
}

void check_replayed(InMemoryServer& server) {
  Ledger ledger;
  Lsn end = 0;
  for (const std::string& records : server.take_batches()) {
    constexpr Lsn kFrameHeader = 24;
    end += kFrameHeader;
    check(static_cast<bool>(ledger.replay(records, end)));
    end += records.size();
  }
  const JobBatches& now = server.broker().view().batches();
  const JobBatches& then = ledger.store().batches();
  check(now.size() == then.size() && now.finished_count() == then.finished_count());
  for (const JobBatches::Slot slot : now.by_creation()) {
    const JobBatch* const replayed = then.find(now.at(slot).id);
    check(replayed != nullptr && replayed->fields == now.at(slot).fields);
  }
}

/// `@0` to `@9` are the first ten batches, in the order of their creation.
std::string with_bids(std::string_view line, const View& view) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_mark = line[i] == '@' && i + 1 < line.size();
    const auto number = static_cast<std::size_t>(is_mark ? line[i + 1] - '0' : kAll);
    const auto& order = view.batches().by_creation();
    if (number > 9 || number >= order.size()) {
      text += line[i];
      continue;
    }
    const auto slot = *std::next(order.begin(), static_cast<std::ptrdiff_t>(number));
    text += format_bid(view.batches().at(slot).id);
    ++i;
  }
  return text;
}

}  // namespace

/// Lines; `+` begins a line that lets so many minutes pass as it is long.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  InMemoryServer::Options options;
  options.faktory.line_bytes_max = 4096;
  InMemoryServer server(options);
  server.connect("a", Protocol::kFaktory);
  server.send("a", "HELLO {\"v\":2,\"wid\":\"w\"}\n");
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.starts_with('+')) {
      server.advance(std::chrono::minutes{line.size()});
    } else {
      server.send("a", with_bids(line, server.broker().view()) + "\n");
      server.advance(kFetchWait);
    }
    check_counts(server.broker().view());
  }
  server.close("a");
  server.advance(std::chrono::minutes{1});
  check_replayed(server);
  return 0;
}
