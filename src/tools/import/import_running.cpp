#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "beanstalk/argument.hpp"
#include "client/beanstalk.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "tools/import/binlog_reader.hpp"
#include "tools/import/import.hpp"
#include "tools/import/import_target.hpp"
#include "tools/import/put_job.hpp"
#include "tools/peers/job_peer.hpp"
#include "tools/peers/peer_addresses.hpp"
#include "tools/peers/transfer_table.hpp"

namespace millrace::tools {
namespace {

/// So many ready jobs are reserved there, stored here and then deleted there.
constexpr std::size_t kJobsAtOnce = 100;
constexpr std::size_t kBytesAtOnce = std::size_t{8} << 20;
/// As for a binlog.
constexpr JobId kDrainedIdMax = JobId{1} << 62;

/// A job of the other server.
struct PeerJob {
  JobId id = 0;
  std::string body;
  BinlogRecord::State state = BinlogRecord::State::kReady;
  bool is_held = true;  ///< we have reserved it
};

/// The job as a binlog would have it.
BinlogRecord record_of(const PeerJob& job, std::string_view stats_text, Time wall) {
  const auto stats = client::parse_stats(stats_text);
  const auto number = [&](std::string_view name) -> std::uint64_t {
    const auto found = stats.find(name);
    if (found == stats.end()) return 0;
    return parse_number<std::uint64_t>(found->second).value_or(0);
  };
  const auto tally = [&](std::string_view name) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number(name), UINT32_MAX));
  };
  const auto seconds = [&](std::string_view name) -> Duration {
    return std::chrono::seconds(std::min<std::uint64_t>(number(name), UINT32_MAX));
  };
  BinlogRecord record{.id = job.id,
                      .pri = tally("pri"),
                      .delay = seconds("delay"),
                      .ttr = seconds("ttr"),
                      .created_at = wall - seconds("age"),
                      .deadline_at = wall + seconds("time-left"),
                      .state = job.state};
  record.tallies = {.reserves = tally("reserves"),
                    .timeouts = tally("timeouts"),
                    .releases = tally("releases"),
                    .buries = tally("buries"),
                    .kicks = tally("kicks")};
  // Our own does not count.
  if (job.is_held && record.tallies.reserves > 0) --record.tallies.reserves;
  return record;
}

class Drain {
 public:
  Drain(JobPeer& peer, ImportTarget& target) : peer_(peer), target_(target) {}

  Outcome<Done> run() {
    peer_.send("list-tubes");
    const auto list = peer_.read_text();
    if (!list) return list.error();
    for (std::string_view rest = *list; !rest.empty();) {
      std::string_view line = take_line(rest);
      if (!line.starts_with("- ")) continue;
      line.remove_prefix(2);
      if (line.starts_with('"') && line.size() > 2) line = line.substr(1, line.size() - 2);
      // A Millrace may have queues that the beanstalk protocol cannot name.
      if (!beanstalk::is_tube_name(line)) {
        unnamed_.emplace_back(line);
        continue;
      }
      if (auto drained = drain_tube(std::string(line)); !drained) return drained;
    }
    return Done{};
  }

  [[nodiscard]] const TransferTable& table() const { return table_; }
  /// Tubes of which nothing can be taken.
  [[nodiscard]] const std::vector<std::string>& unnamed() const { return unnamed_; }
  [[nodiscard]] JobId last_id() const { return last_id_; }
  /// Jobs that were stored by the drain before, and not deleted.
  [[nodiscard]] std::uint64_t found_again() const { return found_again_; }
  /// Jobs that are here and, since somebody else had got them, perhaps there too.
  [[nodiscard]] std::uint64_t doubled() const { return doubled_; }

 private:
  using State = BinlogRecord::State;

  Outcome<Done> drain_tube(const std::string& tube) {
    tube_ = tube;
    if (auto used = expect("use " + tube, "USING "); !used) return used;
    if (auto watched = expect("watch " + tube, "WATCHING "); !watched) return watched;
    if (!watched_.empty() && watched_ != tube) {
      if (auto ignored = expect("ignore " + watched_, "WATCHING "); !ignored) return ignored;
    }
    if (watched_.empty() && tube != "default") {
      if (auto ignored = expect("ignore default", "WATCHING "); !ignored) return ignored;
    }
    watched_ = tube;
    if (auto drained = drain_reserved(); !drained) return drained;
    // A tube that is paused hands out none of its ready jobs.
    for (const auto& [command, state] :
         {std::pair{"peek-ready", State::kReady}, std::pair{"peek-delayed", State::kDelayed},
          std::pair{"peek-buried", State::kBuried}}) {
      if (auto drained = drain_peeked(command, state); !drained) return drained;
    }
    return note_held();
  }

  /// Jobs that workers hold stay there.
  Outcome<Done> note_held() {
    peer_.send("stats-tube " + tube_);
    const auto text = peer_.read_text();
    if (!text) return text.error();
    const auto stats = client::parse_stats(*text);
    const auto held = stats.find("current-jobs-reserved");
    const std::uint64_t count =
        held == stats.end() ? 0 : parse_number<std::uint64_t>(held->second).value_or(0);
    if (count > 0) table_.add_refused(tube_, "reserved", "held by a worker", count);
    return Done{};
  }

  Outcome<Done> expect(const std::string& command, std::string_view start) {
    const auto answer = peer_.ask(command);
    if (!answer) return answer.error();
    if (!answer->starts_with(start)) return peer_.odd(*answer);
    return Done{};
  }

  /// Ready jobs, many at a time.
  Outcome<Done> drain_reserved() {
    std::size_t wanted = 1;
    while (true) {
      for (std::size_t i = 0; i < wanted; ++i) peer_.send("reserve-with-timeout 0");
      std::vector<PeerJob> jobs;
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < wanted; ++i) {
        const auto answer = peer_.line();
        if (!answer) return answer.error();
        // DEADLINE_SOON: it has a job of ours, which will be deleted.
        if (*answer == "TIMED_OUT" || *answer == "DEADLINE_SOON") continue;
        auto job = read_job(*answer, "RESERVED ", State::kReady);
        if (!job) return job.error();
        bytes += job->body.size();
        jobs.push_back(std::move(*job));
      }
      if (jobs.empty()) return Done{};
      const std::size_t each = bytes / jobs.size() + 1;
      wanted = std::clamp<std::size_t>(kBytesAtOnce / each, 1, kJobsAtOnce);
      if (auto taken = take(std::move(jobs)); !taken) return taken;
    }
  }

  /// The first job of a state, again and again. None is reserved: when we are killed, a job that we
  /// hold would become ready. Nobody else gets one of these.
  Outcome<Done> drain_peeked(const std::string& command, State state) {
    while (true) {
      const auto answer = peer_.ask(command);
      if (!answer) return answer.error();
      if (*answer == "NOT_FOUND") return Done{};
      auto job = read_job(*answer, "FOUND ", state);
      if (!job) return job.error();
      job->is_held = false;
      std::vector<PeerJob> jobs;
      jobs.push_back(std::move(*job));
      if (auto taken = take(std::move(jobs)); !taken) return taken;
    }
  }

  Outcome<PeerJob> read_job(const std::string& answer, std::string_view start, State state) {
    std::string_view words = answer;
    (void)take_word(words);
    const auto id = parse_number<JobId>(take_word(words));
    if (!answer.starts_with(start) || !id) return peer_.odd(answer);
    auto body = peer_.body(answer);
    if (!body) return body.error();
    return PeerJob{.id = *id, .body = std::move(*body), .state = state};
  }

  Outcome<Done> take(std::vector<PeerJob> jobs) {
    for (const PeerJob& job : jobs) peer_.send("stats-job " + std::to_string(job.id));
    for (const PeerJob& job : jobs) {
      const auto stats = peer_.read_text();
      if (!stats) return stats.error();
      if (auto stored = store(job, *stats); !stored) return stored;
    }
    if (auto synced = target_.sync(); !synced) return synced;
    for (const PeerJob& job : jobs) peer_.send("delete " + std::to_string(job.id));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto answer = peer_.line();
      if (!answer) return answer.error();
      if (*answer != "DELETED") ++doubled_;
    }
    return Done{};
  }

  Outcome<Done> store(const PeerJob& job, std::string_view stats) {
    if (job.id > kDrainedIdMax - target_.id_shift() || job.body.size() > kBodyBytesMax) {
      return Problem{peer_.name() + ": job " + std::to_string(job.id) + " cannot be stored here"};
    }
    const JobId id = job.id + target_.id_shift();
    const BinlogRecord record = record_of(job, stats, target_.wall().shown(target_.now()));
    table_.add_taken(tube_, state_name(job.state));
    last_id_ = std::max(last_id_, id);
    if (target_.has_taken(id)) {
      ++found_again_;
      return Done{};
    }
    const Time death = job.state == State::kBuried ? target_.draw_death() : Time{};
    StoredJob fields = stored_put_job(record, target_, death);
    fields.sequence = id;
    return target_.add(
        JobAdded{.id = id, .queue = tube_, .body = job.body, .fields = std::move(fields)});
  }

  JobPeer& peer_;
  ImportTarget& target_;
  TransferTable table_{{.queue = "tube"}};
  std::vector<std::string> unnamed_;
  std::string tube_;
  std::string watched_;
  JobId last_id_ = 0;
  std::uint64_t found_again_ = 0;
  std::uint64_t doubled_ = 0;
};

}  // namespace

Outcome<JournalReport> import_running(const ImportChoice& choice) {
  const auto address = parse_beanstalk_address(choice.from);
  if (!address) return Problem{"--from: not beanstalk://HOST[:PORT]"};
  auto peer = connect_beanstalk(*address);
  if (!peer) return peer.error();
  const auto before = ask_beanstalk_stats(*peer);
  if (!before) return before.error();
  const auto instance = before->find("id");
  journal::PosixFileSystem files;
  auto target = ImportTarget::open(
      files,
      {.directory = choice.into,
       .source = "the server " + peer->name(),
       .merges = choice.merges,
       .instance = instance == before->end() ? ImportTarget::kUnknownInstance : instance->second});
  if (!target) return target.error();
  Drain drain(*peer, **target);
  if (auto drained = drain.run(); !drained) return drained.error();
  const auto after = ask_beanstalk_stats(*peer);
  if (!after) return after.error();
  if (auto ended = (*target)->finish(drain.last_id() + 1); !ended) return ended.error();
  JournalReport report{.text = drain.table().text(), .damage = {}};
  const JobId shift = (*target)->id_shift();
  if (drain.last_id() > 0) report.text += ids_text(shift);
  const std::uint64_t taken_before = (*target)->taken_before();
  if (taken_before > drain.found_again()) {
    report.text += "goes on: " + http::count_of(taken_before - drain.found_again(), "job") +
                   " moved before, not in this table\n";
  }
  if (drain.found_again() > 0) {
    report.text += "goes on: " + http::count_of(drain.found_again(), "job") +
                   " of this table had come before, and had only to be deleted there\n";
  }
  if ((*target)->has_new_instance()) {
    report.text += "warning: that server was restarted since the import began; up to " +
                   std::to_string(kJobsAtOnce) + " jobs may be here twice\n";
  }
  if (drain.doubled() > 0) {
    report.text += "warning: " + http::count_of(drain.doubled(), "job") +
                   " could not be deleted there, and may be run twice\n";
  }
  for (const std::string& tube : drain.unnamed()) {
    report.text += "not emptied: tube " + harmless(tube) + ", which no command can name\n";
  }
  report.text += "next: start a server with the data directory " + choice.into + "\n";
  if (const std::size_t count = drain.unnamed().size(); count > 0) {
    report.damage = http::count_of(count, "tube") + " of " + peer->name() +
                    " cannot be named by a command, so the jobs stay there";
  }
  const auto held = parse_number<std::uint64_t>(after->find("current-jobs-reserved")->second);
  if (held.value_or(0) > 0) {
    report.damage = (report.damage ? *report.damage + "; " : "") + "workers hold " +
                    http::count_of(*held, "job") + " of " + peer->name() +
                    ", which stay there; run it again with --merge later";
  }
  return report;
}

}  // namespace millrace::tools
