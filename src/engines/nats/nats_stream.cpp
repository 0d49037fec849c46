#include "engines/nats/nats_stream.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

namespace millrace::engines {
namespace {

constexpr const char* kDescription = "millrace log";
constexpr int kReplicas = 3;
/// We send no message ids, so nothing is taken for a duplicate. This is the shortest that NATS has.
constexpr std::int64_t kDuplicatesNs = 100'000'000;
/// The members of a new stream first elect a leader.
constexpr std::int64_t kMakeMaxMs = 10'000;
constexpr std::chrono::milliseconds kAskMax =
    std::chrono::duration_cast<std::chrono::milliseconds>(journal::kAnswerMax);
/// A stream without a leader answers nothing. So a question is asked again soon, and at last with
/// time for a busy server.
constexpr std::array kAskWaitsMs = {250, 250, 250, 250, 1000};
static_assert(std::accumulate(kAskWaitsMs.begin(), kAskWaitsMs.end(), 0) == kAskMax.count());
/// A message is there, or it is asked for again.
constexpr int kMessageWaitMs = 100;
/// A member calls an election at the earliest when it has heard nothing for 4 s.
constexpr std::int64_t kSilenceMaxNs = 3'500'000'000;

struct DestroyStreamInfo {
  void operator()(jsStreamInfo* info) const { jsStreamInfo_Destroy(info); }
};
using StreamInfo = std::unique_ptr<jsStreamInfo, DestroyStreamInfo>;

struct Answered {
  natsStatus status = NATS_OK;
  jsErrCode error = static_cast<jsErrCode>(0);
  StreamInfo info;
};

/// While servers start, or elect a leader.
bool is_passing(jsErrCode error) {
  return error == JSClusterNotAvailErr || error == JSClusterNotLeaderErr ||
         error == JSClusterNoPeersErr || error == JSInsufficientResourcesErr ||
         error == JSStreamOfflineErr;
}

/// What the server said, which knows nothing of passwords; else what the library calls it.
Problem stream_problem(const std::string& name, const Answered& answered) {
  Problem problem = nats_problem(answered.status);
  if (answered.error != 0) {
    natsStatus status = NATS_OK;
    const char* const text = nats_GetLastError(&status);
    const bool is_gone = answered.error == JSStreamNotFoundErr;
    const std::string said = text == nullptr || *text == '\0' ? "an error without a text" : text;
    problem.text = is_gone ? "it is not there any more"
                           : "NATS says: " + said + " (" + std::to_string(answered.error) + ")";
    problem.is_passing = is_passing(answered.error);
  }
  problem.text.insert(0, "the stream " + name + ": ");
  return problem;
}

Answered ask_info(jsCtx* context, const std::string& name) {
  Answered answered;
  for (const int wait_ms : kAskWaitsMs) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = wait_ms;
    jsStreamInfo* info = nullptr;
    answered.status = js_GetStreamInfo(&info, context, name.c_str(), &options, &answered.error);
    answered.info.reset(info);
    if (answered.status != NATS_TIMEOUT) break;
  }
  return answered;
}

bool is_log(const jsStreamConfig& config, const std::string& subject) {
  const bool is_ours = config.Description != nullptr &&
                       std::strcmp(config.Description, kDescription) == 0 &&
                       config.SubjectsLen == 1 && subject == config.Subjects[0];
  const bool keeps_all = config.Retention == js_LimitsPolicy && config.Discard == js_DiscardNew &&
                         config.MaxAge == 0 && config.MaxMsgs <= 0 && config.MaxMsgsPerSubject <= 0;
  return is_ours && keeps_all && config.Storage == js_FileStorage && !config.NoAck &&
         config.Mirror == nullptr && config.SourcesLen == 0;
}

/// Whether most members, this leader among them, have been heard of lately. A member that a new
/// leader has not heard of yet has 0.
bool hears_most(const jsClusterInfo& cluster) {
  int heard = 1;
  for (int i = 0; i < cluster.ReplicasLen; ++i) {
    const jsPeerInfo& peer = *cluster.Replicas[i];
    if (!peer.Offline && peer.Active > 0 && peer.Active < kSilenceMaxNs) ++heard;
  }
  return heard > (cluster.ReplicasLen + 1) / 2;
}

Problem undeclared() {
  return {
      "NATS does not tell its clients whether it syncs before it acknowledges: set "
      "`sync_interval: always` in the jetstream block of each server, which takes NATS 2.10.23 or "
      "later, and add ?synced=yes to the URL, or use --allow-unsynced-log"};
}

Problem only_one_server(const std::string& name) {
  return {
      "the stream " + name +
      " would be on one server, and lost with it: make a cluster of three, or say replicas=1 in "
      "the URL"};
}

Problem unlike_url(const std::string& name, std::int64_t replicas, int wanted) {
  return {"the stream " + name + " has " + std::to_string(replicas) +
          (replicas == 1 ? " replica, not " : " replicas, not ") + std::to_string(wanted) +
          ": change it with `nats stream edit --replicas`, or say " +
          "replicas=" + std::to_string(replicas) + " in the URL"};
}

}  // namespace

NatsStream::NatsStream(NatsConnection& connection, std::string name)
    : connection_(connection), name_(std::move(name)), subject_("millrace." + name_) {}

NatsStream::~NatsStream() = default;

Outcome<Done> NatsStream::open_context() {
  if (context_ != nullptr) return Done{};
  jsCtx* context = nullptr;
  const natsStatus status = natsConnection_JetStream(&context, connection_.handle(), nullptr);
  if (status != NATS_OK) return nats_problem(status);
  context_.reset(context);
  return Done{};
}

Outcome<Done> NatsStream::make(const NatsUrl& url, const Options& options) {
  if (const auto opened = open_context(); !opened) return opened.error();
  const Answered answered = ask_info(context_.get(), name_);
  if (answered.error == JSStreamNotFoundErr) {
    // A stream that is refused after all would be in the way of the one that is meant.
    if (!options.allows_unsynced && !url.is_declared_synced) return undeclared();
    return add_stream(url.replicas, options);
  }
  if (!answered.info) return stream_problem(name_, answered);
  return Done{};
}

Outcome<Done> NatsStream::check(const NatsUrl& url, const Options& options) {
  if (const auto opened = open_context(); !opened) return opened.error();
  const Answered answered = ask_info(context_.get(), name_);
  if (!answered.info) return stream_problem(name_, answered);
  const jsStreamConfig& config = *answered.info->Config;
  if (!is_log(config, subject_)) {
    return Problem{"the stream " + name_ + " is not a log of Millrace: choose another name"};
  }
  const jsClusterInfo* const cluster = answered.info->Cluster;
  const bool is_alone = cluster == nullptr || cluster->Name == nullptr || *cluster->Name == '\0';
  const int wanted = url.replicas != 0 ? url.replicas : is_alone ? 1 : kReplicas;
  const bool is_enough = url.replicas == 0 ? config.Replicas >= wanted : config.Replicas == wanted;
  if (!is_enough) return unlike_url(name_, config.Replicas, wanted);
  if (options.allows_unsynced) return Done{};
  if (is_alone && url.replicas == 0) {
    return only_one_server(name_);
  }
  return check_synced(url);
}

/// A server alone refuses several replicas: it gets a stream with one.
Outcome<Done> NatsStream::add_stream(int replicas, const Options& options) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subject = subject_.c_str();
  config.Name = name_.c_str();
  config.Description = kDescription;
  config.Subjects = &subject;
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  config.Retention = js_LimitsPolicy;
  config.Discard = js_DiscardNew;
  config.Duplicates = kDuplicatesNs;
  config.DenyDelete = true;
  config.Replicas = replicas == 0 ? kReplicas : replicas;
  jsOptions ask;
  jsOptions_Init(&ask);
  ask.Wait = kMakeMaxMs;
  Answered answered;
  answered.status = js_AddStream(nullptr, context_.get(), &config, &ask, &answered.error);
  if (answered.error == JSStreamReplicasNotSupportedErr && replicas == 0) {
    return options.allows_unsynced ? add_stream(1, options) : only_one_server(name_);
  }
  // Another server of ours may have made it in the meantime.
  if (answered.error == JSStreamNameExistErr || answered.status == NATS_OK) return Done{};
  if (answered.error == JSClusterNoPeersErr && replicas == 0) {
    Problem few{"NATS has no three servers with room for the stream " + name_ +
                ": start them, or say replicas=1 in the URL"};
    few.is_passing = true;
    return few;
  }
  return stream_problem(name_, answered);
}

/// What a client sees of it: servers since 2.10 tell of a stream's compression, and servers since
/// 2.12 of streams that sync later by themselves. The interval of syncs only the operators see.
Outcome<Done> NatsStream::check_synced(const NatsUrl& url) {
  const auto answer = connection_.request("$JS.API.STREAM.INFO." + name_, "", kAskMax);
  if (!answer) return answer.error();
  const std::string_view text = bytes_of(**answer);
  if (text.find("\"compression\":") == std::string_view::npos) {
    return Problem{
        "NATS servers before 2.10 cannot sync before they acknowledge, so a power cut "
        "may lose jobs: use 2.10.23 or later, or --allow-unsynced-log"};
  }
  if (text.find("\"persist_mode\":\"async\"") != std::string_view::npos) {
    return Problem{"the stream " + name_ + " acknowledges before it syncs (persist_mode async): " +
                   "make another one, or use --allow-unsynced-log"};
  }
  if (!url.is_declared_synced) return undeclared();
  return Done{};
}

Outcome<journal::LogService::Extent> NatsStream::extent() {
  if (std::optional<Problem> lost = connection_.problem()) return *lost;
  const Answered answered = ask_info(context_.get(), name_);
  if (!answered.info) return stream_problem(name_, answered);
  const jsStreamInfo& info = *answered.info;
  if (info.Cluster != nullptr && !hears_most(*info.Cluster)) {
    Problem lost{"the leader of the stream " + name_ + " has lost touch with the other servers"};
    lost.is_passing = true;
    return lost;
  }
  journal::LogService::Extent extent;
  extent.last = info.State.LastSeq;
  extent.begin = info.State.Msgs == 0 ? extent.last + 1 : info.State.FirstSeq;
  return extent;
}

std::optional<NatsMessage> NatsStream::message(journal::Sequence sequence) {
  if (!connection_.is_connected() || !open_context()) return std::nullopt;
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kMessageWaitMs;
  natsMsg* found = nullptr;
  const natsStatus status =
      js_GetMsg(&found, context_.get(), name_.c_str(), sequence, &options, nullptr);
  if (status != NATS_OK) return std::nullopt;
  return NatsMessage(found);
}

}  // namespace millrace::engines
