#include "tools/export/to_faktory.hpp"

#include <simdjson.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"
#include "server/process/clock.hpp"

namespace millrace::tools {
namespace {

/// A process is known by the second of its start, which the server tells in whole ones.
constexpr std::int64_t kStartDriftSeconds = 5;

/// Jobs that are to be dead are scheduled for this time, and killed by it: the jid would not do,
/// since other jobs may have it, or a part of the text that looks like it. It is far away, so that
/// no worker gets one meanwhile.
Time time_of_dead(std::uint64_t salt) {
  using std::chrono::sys_days;
  constexpr sys_days kDay = std::chrono::year{2099} / 12 / 31;
  // Odd, so that all nine digits are written.
  const auto nanoseconds =
      std::chrono::nanoseconds(static_cast<std::int64_t>(salt % 500'000'000)) * 2;
  return Time{kDay.time_since_epoch() + 23h + nanoseconds + 1ns};
}

/// What a server that knows nothing of the job says, without what differs from job to job.
std::string reason_in(std::string_view answer) {
  answer.remove_prefix(1);
  return std::string(answer.substr(0, answer.find(": ")));
}

namespace ondemand = simdjson::ondemand;

/// Of the members in their object.
constexpr std::size_t kPushedMemberDepth = 1;

class PushedMembers {
 public:
  explicit PushedMembers(const PushChanges& changes) : changes_(changes) {
    if (!changes_.at) return;
    pushed_.json += R"("at":")";
    faktory::append_time(*changes_.at, pushed_.json);
    pushed_.json += '"';
  }

  /// False: it is no JSON.
  bool add(ondemand::document& document, ondemand::field& field) {
    std::string_view name;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    const std::string own_name(name);
    const auto value = faktory::check_value(document, field.value(), kPushedMemberDepth);
    if (!value) return false;
    if (own_name == "at" || own_name == "enqueued_at") return true;
    if (pushed_.json.size() > 1) pushed_.json += ',';
    faktory::append_json_string(own_name, pushed_.json);
    pushed_.json += ':';
    const auto seconds =
        own_name == "reserve_for" ? parse_number<std::int64_t>(*value) : std::nullopt;
    if (seconds.value_or(0) > changes_.reserve_for_max) {
      pushed_.json += std::to_string(changes_.reserve_for_max);
      pushed_.is_cut = true;
    } else {
      pushed_.json += *value;
    }
    return true;
  }

  [[nodiscard]] PushedText end() {
    pushed_.json += '}';
    return std::move(pushed_);
  }

 private:
  const PushChanges& changes_;
  PushedText pushed_{.json = "{"};
};

}  // namespace

Outcome<ToFaktory> ToFaktory::connect(const FaktoryAddress& address, const WorkUnitFormat& format) {
  auto peer = connect_faktory(address);
  if (!peer) return peer.error();
  const auto length = peer->ask("INFO");
  if (!length) return length.error();
  const auto text = peer->bulk(*length);
  if (!text) return text.error();
  const auto info = nlohmann::json::parse(*text, nullptr, false);
  const auto uptime = nlohmann::json::json_pointer("/server/uptime");
  if (info.is_discarded() || !info.contains(uptime) || !info[uptime].is_number_integer()) {
    return peer->odd(*text);
  }
  const Time started =
      server::SystemClock().now() - std::chrono::seconds(info[uptime].get<std::int64_t>());
  const auto second = std::chrono::floor<std::chrono::seconds>(started).time_since_epoch().count();
  return ToFaktory(std::move(*peer), "began " + std::to_string(second), format);
}

bool ToFaktory::is_process(std::string_view told) const {
  const auto second_of = [](std::string_view process) {
    return parse_number<std::int64_t>(process.substr(process.rfind(' ') + 1)).value_or(0);
  };
  return std::abs(second_of(told) - second_of(process_)) <= kStartDriftSeconds;
}

Outcome<std::vector<std::string>> ToFaktory::give(const std::vector<LeavingJob>& jobs, Time /*now*/,
                                                  WallClock wall, std::uint64_t salt) {
  std::vector<std::string> refusals(jobs.size());
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].job->has_body()) {
      refusals[i] = kBodyUnreadable;
    } else if (!faktory::is_queue_name(jobs[i].queue)) {
      refusals[i] = "no queue of Faktory can have that name";
    } else if (const auto text = push_of(jobs[i], wall, salt); !text) {
      refusals[i] = "its JSON is broken";
    } else {
      peer_.send("PUSH " + *text);
      sent.push_back(i);
    }
  }
  for (const std::size_t i : sent) {
    const auto answer = peer_.line();
    if (!answer) return answer.error();
    if (answer->starts_with("-")) {
      refusals[i] = reason_in(*answer);
    } else if (*answer != "+OK") {
      return peer_.odd(*answer);
    }
  }
  return refusals;
}

std::optional<std::string> ToFaktory::push_of(const LeavingJob& leaving, WallClock wall,
                                              std::uint64_t salt) {
  const Job& job = *leaving.job;
  std::string shown;
  format_.render_whole(job, leaving.queue, wall, shown);
  PushChanges changes{.at = std::nullopt, .reserve_for_max = faktory::kReserveForMax};
  switch (job.state) {
    case JobState::kReady:
    case JobState::kReserved:
      break;
    case JobState::kScheduled:
    case JobState::kRetrying:
      changes.at = job.wall_when(wall);
      break;
    case JobState::kDead:
      changes.at = time_of_dead(salt);
  }
  auto pushed = pushed_text(shown, changes);
  if (!pushed) return std::nullopt;
  if (pushed->is_cut) ++cut_ttrs_;
  return std::move(pushed->json);
}

Outcome<Done> ToFaktory::end_dead(std::uint64_t salt) {
  const auto answer =
      peer_.ask(R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"regexp":"*\"at\":\")" +
                faktory::format_time(time_of_dead(salt)) + R"(\"*"}})");
  if (!answer) return answer.error();
  if (*answer != "+OK") return peer_.odd(*answer);
  return Done{};
}

Outcome<bool> ToFaktory::pause(std::string_view queue) {
  if (!faktory::is_queue_name(queue)) return false;
  const auto answer = peer_.ask("QUEUE PAUSE " + std::string(queue));
  if (!answer) return answer.error();
  if (*answer != "+OK") return peer_.odd(*answer);
  return true;
}

std::optional<PushedText> pushed_text(std::string_view shown, const PushChanges& changes) {
  const simdjson::padded_string padded(shown);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return std::nullopt;
  if (document.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  PushedMembers members(changes);
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return std::nullopt;
    if (!members.add(document, field)) return std::nullopt;
  }
  return members.end();
}

}  // namespace millrace::tools
