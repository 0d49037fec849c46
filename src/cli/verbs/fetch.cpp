#include <chrono>
#include <string>
#include <vector>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "cli/job_port.hpp"
#include "cli/verbs/verbs.hpp"
#include "client/beanstalk.hpp"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using client::Beanstalk;

/// The time that was waited is counted in these.
constexpr std::chrono::seconds kOneWait = 1s;

/// Bytes that are no text have a member of another name.
Json json_of(const Beanstalk::Job& job, const std::string& tube) {
  Json json{{"id", job.id}, {"queue", tube}};
  if (is_utf8(job.body)) {
    json["body"] = job.body;
  } else {
    json["body_base64"] = base64(job.body);
  }
  return json;
}

/// The server may take long to answer. When a signal ends us meanwhile, it takes back what we hold.
template <typename Call>
auto or_end(const Call& call) {
  const Interrupts::Ending ending(Exit::kInterrupted, "millrace: a signal ended it\n");
  return call();
}

/// The jobs of one call, on one connection.
class Fetch {
 public:
  Fetch(Session& session, Beanstalk client) : session_(session), client_(std::move(client)) {}

  Exit run() {
    const FetchChoice& wanted = session_.choice.fetch;
    if (auto watched = or_end([&] { return client_.watch(queues()); }); !watched) {
      return session_.fail(failure_of(watched.error()));
    }
    std::uint64_t waited_s = 0;
    while (taken_ < wanted.jobs_max) {
      const bool may_wait = waited_s < wanted.wait_s;
      const auto job = or_end([&] { return client_.reserve({may_wait ? kOneWait : 0s}); });
      if (!job) return end_with(job.error());
      if (*job) {
        if (const Exit exit = take(**job); exit != Exit::kDone) return exit;
        continue;
      }
      if (!may_wait) break;
      ++waited_s;
    }
    if (taken_ == 0) return session_.fail({.text = "no job is ready in " + shown_queues()});
    return Exit::kDone;
  }

 private:
  [[nodiscard]] std::vector<std::string> queues() const {
    const std::vector<std::string>& named = session_.choice.words;
    return named.empty() ? std::vector<std::string>{"default"} : named;
  }

  [[nodiscard]] std::string shown_queues() const {
    const std::vector<std::string> names = queues();
    if (names.size() > 1) return "these queues";
    return "the queue " + names.front();
  }

  /// What is held runs out soon: waiting ends, so that nothing is held too long.
  Exit end_with(const client::Failure& failure) {
    if (failure.is_refusal && failure.text.ends_with("DEADLINE_SOON")) {
      return session_.fail({.text = "jobs that are held run out of time, and are given back"});
    }
    return session_.fail(failure_of(failure));
  }

  /// A job is deleted only when it was written.
  Exit take(const Beanstalk::Job& job) {
    const auto stats = or_end([&] { return client_.stats(job.id); });
    if (!stats) return session_.fail(failure_of(stats.error()));
    session_.print(json_of(job, client::parse_stats(*stats)["tube"]));
    if (!session_.console.finish() || session_.console.has_lost_reader()) {
      return session_.fail(
          {.text = "the output could not be written; what was not written is given back"});
    }
    ++taken_;
    if (!session_.choice.fetch.deletes) return Exit::kDone;
    const auto deleted = or_end([&] { return client_.remove(job.id); });
    if (deleted) return Exit::kDone;
    Failure failure = failure_of(deleted.error());
    failure.text =
        "job " + std::to_string(job.id) + " was printed, and may not be deleted: " + failure.text;
    return session_.fail(failure);
  }

  Session& session_;
  Interrupts interrupts_;
  Beanstalk client_;
  std::uint64_t taken_ = 0;
};

}  // namespace

Exit fetch_jobs(Session& session) {
  auto client = connect_to_job_port(session.choice);
  if (!client) return session.fail(failure_of(client.error()));
  return Fetch(session, std::move(*client)).run();
}

}  // namespace millrace::cli
