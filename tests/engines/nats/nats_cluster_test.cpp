#include <nats/nats.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engines/contract.hpp"
#include "engines/nats/nats_server.hpp"
#include "engines/open.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using journal::Sequence;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ClusterClock = std::chrono::steady_clock;

/// For elections, which take up to nine seconds each.
constexpr seconds kElectionPatience(40);

std::unique_ptr<LogService> open_cluster_log(const std::string& addresses,
                                             const std::string& stream) {
  Options options;
  options.allows_unsynced = true;
  const auto end = ClusterClock::now() + kElectionPatience;
  for (;;) {
    auto log = open_nats_log("nats://" + addresses + "/" + stream, options);
    if (log) return std::move(*log);
    REQUIRE_MESSAGE(ClusterClock::now() < end, log.error().text);
  }
}

struct StreamMembers {
  std::string leader;
  std::int64_t replicas = 0;
};

StreamMembers members_of(const std::string& addresses) {
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  jsStreamInfo* info = nullptr;
  REQUIRE(natsConnection_ConnectTo(&connection, ("nats://" + addresses).c_str()) == NATS_OK);
  REQUIRE(natsConnection_JetStream(&context, connection, nullptr) == NATS_OK);
  REQUIRE(js_GetStreamInfo(&info, context, "jobs", nullptr, nullptr) == NATS_OK);
  const StreamMembers members{info->Cluster->Leader, info->Config->Replicas};
  jsStreamInfo_Destroy(info);
  jsCtx_Destroy(context);
  natsConnection_Destroy(connection);
  return members;
}

LogService::Extent extent_after_election(LogService& log) {
  auto extent = log.extent();
  const auto end = ClusterClock::now() + kElectionPatience;
  while (!extent && ClusterClock::now() < end) {
    (void)log.answers(milliseconds(20));
    extent = log.extent();
  }
  REQUIRE_MESSAGE(extent.has_value(), (extent ? "" : extent.error().text));
  return *extent;
}

std::vector<std::string> read_all(LogService& log, Sequence last) {
  std::vector<std::string> all;
  Sequence after = 0;
  const auto end = ClusterClock::now() + kElectionPatience;
  while (after < last && ClusterClock::now() < end) {
    auto chunk = log.follow(after, 1 << 20, milliseconds(500));
    if (!chunk) continue;
    after = chunk->seen;
    for (const auto& entry : chunk->entries) all.push_back(entry.bytes);
  }
  REQUIRE(after == last);
  return all;
}

}  // namespace

/// Both in one case, since a cluster takes seconds to elect its leaders. Its elections depend on
/// how busy the machine is, so it runs by `engines_tests --no-skip` only.
TEST_CASE("NATS cluster: keeps the fence, and what it acknowledged when a leader is killed" *
          doctest::skip()) {
  NatsCluster cluster(3);
  const auto log = open_cluster_log(cluster.addresses(), "jobs");
  const auto reader = open_cluster_log(cluster.addresses(), "jobs");
  const StreamMembers before = members_of(cluster.addresses());
  CHECK(before.replicas == 3);
  int logs = 0;
  // Those of the fence: the others are the same on a server alone.
  for (const ContractCase& each : contract_cases()) {
    const std::string_view name = each.name;
    INFO(name);
    if (name.find("refused") == name.npos && name.find("server") == name.npos) continue;
    const std::string stream = "contract" + std::to_string(++logs);
    each.check([&] { return open_cluster_log(cluster.addresses(), stream); });
  }

  std::vector<std::string> acknowledged;
  Sequence last = 0;
  std::size_t asked = 0;
  const auto note = [&](const std::vector<LogService::Answer>& answers) {
    bool is_refused = false;
    for (const auto& answer : answers) {
      // A conflict may be with the entry itself, which the new leader of the stream had already.
      is_refused = is_refused || answer.refusal;
      if (!answer.refusal) acknowledged.push_back(std::to_string(acknowledged.size()));
    }
    return is_refused;
  };
  bool is_refused = false;
  for (; asked < 200; ++asked) last = log->append(last, std::to_string(asked));
  while (acknowledged.size() < 100) is_refused = note(log->answers(seconds(1))) || is_refused;
  REQUIRE_FALSE(is_refused);
  for (; asked < 400; ++asked) last = log->append(last, std::to_string(asked));
  cluster.named(before.leader).kill();
  while (!is_refused && acknowledged.size() < asked) is_refused = note(log->answers(seconds(1)));

  // What is unknown is known by reading.
  const LogService::Extent extent = extent_after_election(*log);
  CHECK(extent.last >= acknowledged.size());
  const std::vector<std::string> stored = read_all(*reader, extent.last);
  REQUIRE(stored.size() == extent.last);
  for (std::size_t i = 0; i < stored.size(); ++i) CHECK(stored[i] == std::to_string(i));
  CHECK(members_of(cluster.addresses()).leader != before.leader);

  CHECK(log->append(extent.last, "goes on") == extent.last + 1);
  const auto answers = log->answers(seconds(3));
  REQUIRE(answers.size() == 1);
  CHECK_MESSAGE(!answers[0].refusal, answers[0].problem);
  CHECK(read_all(*reader, extent.last + 1).back() == "goes on");

  // A leader that hears of nobody does not know whether it still leads.
  const std::string leader = members_of(cluster.addresses()).leader;
  const auto alone = open_cluster_log(cluster.named(leader).address(), "jobs");
  const std::string other = cluster.other_than({before.leader, leader}).name();
  cluster.named(other).pause();
  auto refused = alone->extent();
  const auto begin = ClusterClock::now();
  while (refused && ClusterClock::now() < begin + seconds(8)) {
    (void)alone->answers(milliseconds(100));
    refused = alone->extent();
  }
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text.find("lost touch") != std::string::npos);
  cluster.named(other).resume();
  CHECK(extent_after_election(*alone).last == extent.last + 1);
}

}  // namespace millrace::engines
