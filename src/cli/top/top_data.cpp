#include "cli/top/top_data.hpp"

#include <algorithm>
#include <map>

#include "cli/members.hpp"

namespace millrace::cli {
namespace {

/// More do not fit on any screen.
constexpr const char* kHoldersPage = "200";
constexpr std::size_t kReservedRowsMax = 1000;

void add_job(const Json& job, std::map<std::string, TopHolder>& holders) {
  const Json& reservation = member(job, "reservation");
  const std::string wid = text_at(reservation, "wid");
  const std::string client = text_at(reservation, "client");
  TopHolder& holder = holders[wid.empty() ? "connection " + client : wid];
  if (holder.state.empty()) holder.state = wid.empty() ? "beanstalk" : "gone";
  ++holder.jobs;
  const std::string since = text_at(reservation, "since");
  if (!holder.since.empty() && holder.since <= since) return;
  holder.since = since;
  const std::string type = text_at(job, "type");
  const bool has_type = is_at(job, "is_pushed") || type != "beanstalk";
  holder.runs = has_type ? type : text_at(job, "queue");
}

}  // namespace

Reply<TopData> TopReader::read() {
  auto overview = session_.api.get("overview");
  if (!overview) return overview.error();
  auto server = session_.api.get("server");
  if (!server) return server.error();
  auto queues = read_queues(session_, "");
  if (!queues) return queues.error();
  auto holders = read_holders();
  if (!holders) return holders.error();
  TopData data{.overview = std::move(overview->json),
               .server = std::move(server->json),
               .queues = member(queues->document, "queues"),
               .holders = std::move(*holders),
               .now_ms = queues->now_ms,
               .commit_ms = {}};
  data.commit_ms = commit_ms_of(member(data.server, "journal"));
  return data;
}

/// Workers without a job are among them, other connections are not.
Reply<std::vector<TopHolder>> TopReader::read_holders() {
  const auto workers = session_.api.get(std::string("workers?limit=") + kHoldersPage);
  if (!workers) return workers.error();
  std::map<std::string, TopHolder> holders;
  for (const Json& worker : member(workers->json, "workers")) {
    holders[text_at(worker, "wid")].state = text_at(worker, "state");
  }
  std::size_t rows = 0;
  const std::string target = std::string("jobs?state=reserved&limit=") + kHoldersPage;
  const auto last = each_page(session_, target, [&](const Answer& page) {
    for (const Json& job : member(page.json, "jobs")) add_job(job, holders);
    rows += member(page.json, "jobs").size();
    return rows < kReservedRowsMax;
  });
  if (!last) return last.error();
  std::vector<TopHolder> sorted;
  for (auto& [name, holder] : holders) {
    sorted.push_back(std::move(holder));
    sorted.back().name = name;
  }
  // The longest runs first.
  std::stable_sort(sorted.begin(), sorted.end(), [](const TopHolder& a, const TopHolder& b) {
    if (a.since.empty() != b.since.empty()) return b.since.empty();
    return a.since < b.since;
  });
  return sorted;
}

std::optional<double> TopReader::commit_ms_of(const Json& journal) {
  const Json& seconds = member(journal, "commit_seconds");
  if (!seconds.is_number()) return std::nullopt;
  const std::uint64_t commits = count_at(journal, "commits");
  // After a restart they begin again.
  if (commits < commits_) commits_ = 0;
  if (commits_ == 0) commit_seconds_ = 0;
  if (commits > commits_) {
    commit_ms_ =
        (seconds.get<double>() - commit_seconds_) * 1000 / static_cast<double>(commits - commits_);
  }
  commits_ = commits;
  commit_seconds_ = seconds.get<double>();
  return commit_ms_;
}

}  // namespace millrace::cli
