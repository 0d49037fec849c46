#include <sys/resource.h>
#include <sys/timex.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/session.hpp"
#include "cli/show/table.hpp"
#include "cli/show/times.hpp"
#include "http/kit/text.hpp"
#include "server/options/serve_command.hpp"
#include "server/process/process.hpp"
#include "tools/doctor/directory_checks.hpp"
#include "tools/local/local_verbs.hpp"
#include "tools/local/sync_probe.hpp"
#include "tools/peers/named_server.hpp"

namespace millrace::tools {
namespace {

using cli::Color;
using cli::Exit;

using namespace std::chrono_literals;
using cli::Json;

constexpr std::chrono::milliseconds kClockSkewMax = 2s;
constexpr std::chrono::milliseconds kOldWait = 1h;
constexpr std::chrono::nanoseconds kSlowCommit = 20ms;
/// More queues with the same trouble are only counted.
constexpr std::size_t kQueuesNamed = 10;

Finding look_at_version(const Json& overview) {
  const std::string version = cli::text_at(overview, "version");
  Finding finding{.check = "version", .seen = "the server is Millrace " + version};
  if (version == MILLRACE_VERSION) return finding;
  finding.seen += ", this program " MILLRACE_VERSION;
  finding.means = "verbs may not know what the server can do, or the reverse";
  finding.to_do = "use the same version for both";
  return finding;
}

Finding look_at_skew(std::int64_t server_ms, std::int64_t before_ms, std::int64_t after_ms) {
  const std::int64_t skew_ms = server_ms < before_ms  ? server_ms - before_ms
                               : server_ms > after_ms ? server_ms - after_ms
                                                      : 0;
  Finding finding{.check = "clock", .seen = "the clocks here and there agree"};
  if (std::abs(skew_ms) <= kClockSkewMax.count()) return finding;
  finding.seen = "the server's clock is " + std::to_string(std::abs(skew_ms) / 1000) + " s " +
                 (skew_ms > 0 ? "ahead of" : "behind") + " ours";
  finding.means = "jobs with a time run early or late";
  finding.to_do = "switch on chrony or systemd-timesyncd on both machines";
  return finding;
}

/// What to do about a kind of concern that the server tells of.
const char* advice_on(const std::string& kind) {
  if (kind == "failures") return "look at the errors (millrace errors)";
  if (kind == "disk" || kind == "full") return "free space, or delete jobs (millrace delete)";
  if (kind == "memory") return "see --memory-limit, or give it more memory";
  if (kind == "bodies") {
    return "check the disk, then retry these jobs (millrace errors: BodyUnreadable); if a retry is "
           "refused, push the job again and delete the dead one";
  }
  if (kind == "bodies_awaited") return "check the disk and its cable or network";
  if (kind == "stalled") return "look at the disk, and at the server's log";
  return "see its pages";
}

/// Queues are looked at one by one: of these the server names a few only.
void add_concerns(const Json& overview, Findings& found) {
  bool is_well = true;
  for (const Json& concern : cli::member(overview, "attention")) {
    const std::string kind = cli::text_at(concern, "kind");
    if (kind == "abandoned" || kind == "paused") continue;
    is_well = false;
    found.push_back({.check = "health",
                     .seen = cli::text_at(concern, "text"),
                     .means = "the server says that somebody should look at it",
                     .to_do = advice_on(kind)});
  }
  if (is_well) found.push_back({.check = "health", .seen = "the server has no trouble"});
}

void look_at_commits(const Json& server, Findings& found) {
  const Json& journal = cli::member(server, "journal");
  if (!journal.is_object()) {
    found.push_back({.check = "journal",
                     .seen = "the server keeps nothing (--volatile)",
                     .means = "all jobs are lost when it ends",
                     .to_do = "start it with --data DIR"});
    return;
  }
  const auto seconds = cli::member(journal, "commit_seconds");
  const std::uint64_t commits = cli::count_at(journal, "commits");
  if (!seconds.is_number() || commits == 0) return;
  const auto each = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds.get<double>() / static_cast<double>(commits)));
  Finding finding{.check = "sync",
                  .seen = "a commit took " + milliseconds_text(each) + " on average of " +
                          http::grouped(commits)};
  if (each > kSlowCommit) {
    finding.means = "clients wait that long for each reply";
    finding.to_do = "use a faster disk, or --sync interval:MS; see doctor DATA there";
  }
  found.push_back(std::move(finding));
}

struct QueueTroubles {
  Findings found;
  std::size_t left_out = 0;

  void add(Finding finding) {
    if (found.size() < kQueuesNamed) {
      found.push_back(std::move(finding));
    } else {
      ++left_out;
    }
  }
};

/// Names come from clients, and people paste commands.
void look_at_queue(const Json& queue, std::int64_t now_ms, const std::string& url,
                   QueueTroubles& troubles) {
  if (cli::count_at(queue, "ready") == 0) return;
  const auto oldest = cli::parse_time_ms(cli::text_at(queue, "oldest_ready_at"));
  const std::int64_t age_ms = oldest ? now_ms - *oldest : 0;
  const std::string name = cli::text_at(queue, "name");
  const std::string jobs = http::count_of(cli::count_at(queue, "ready"), "job") + ", the oldest " +
                           cli::show_age(age_ms) + " old";
  if (cli::is_at(queue, "is_paused")) {
    if (age_ms < kOldWait.count()) return;
    troubles.add({.check = "queue",
                  .seen = name + " is paused with " + jobs,
                  .means = "no worker gets them",
                  .to_do = "resume it",
                  .command = "millrace resume " + shell_word(name) + url});
  } else if (!cli::is_at(queue, "is_served")) {
    troubles.add({.check = "queue",
                  .seen = name + " has " + jobs + ", and no worker",
                  .means = "what is ready waits until somebody takes it",
                  .to_do = "start a worker for it, or look at its jobs",
                  .command = "millrace ls ready --queue " + shell_word(name) + url});
  }
}

void look_at_queues(const cli::AllRows& all, const std::string& url, Findings& found) {
  QueueTroubles troubles;
  const Json& queues = cli::member(all.document, "queues");
  for (const Json& queue : queues) look_at_queue(queue, all.now_ms, url, troubles);
  if (troubles.found.empty()) {
    found.push_back({.check = "queues",
                     .seen = http::count_of(queues.size(), "queue") +
                             "; every queue with ready jobs had a worker in the last minute"});
  }
  for (Finding& finding : troubles.found) found.push_back(std::move(finding));
  if (troubles.left_out == 0) return;
  found.push_back({.check = "queues",
                   .seen = http::grouped(troubles.left_out) +
                           (troubles.left_out == 1 ? " more queue is" : " more queues are") +
                           " like that",
                   .means = "their jobs wait, too",
                   .to_do = "look at all queues",
                   .command = "millrace queues" + url});
}

void look_at_nodes(const Json& cluster, Findings& found) {
  for (const Json& node : cli::member(cluster, "nodes")) {
    std::string ports;
    for (const Json& port : cli::member(node, "out_of_reach")) {
      if (port.is_string()) ports += (ports.empty() ? "" : ", ") + port.get<std::string>();
    }
    if (ports.empty()) continue;
    found.push_back({.check = "nodes",
                     .seen = cli::text_at(node, "node") + " cannot reach these ports of the " +
                             "leader: " + ports,
                     .means = "it refuses clients that connect to it there",
                     .to_do =
                         "let the leader listen on an address that its nodes can reach, or set "
                         "--advertise there"});
  }
}

std::int64_t our_time_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// What a command needs to ask the same server. Without the password, which commands would show:
/// where the variable has it, the variable names the server.
std::string url_option(const cli::Session& session) {
  const std::string& url = session.api.shown_url();
  const auto named =
      cli::parse_server_url(server::environment_variable(server::kUrlVariable).value_or(""));
  const bool is_named = named && !named->password.empty() && named->shown() == url;
  const bool is_known = is_named || url == cli::ServerUrl().shown();
  const std::string& ca_file = session.choice.ca_file;
  return (is_known ? "" : " --url " + shell_word(url)) +
         (ca_file.empty() ? "" : " --ca " + shell_word(ca_file));
}

/// A running server, as its web port shows it.
cli::Reply<Done> check_server(cli::Session& session, Findings& found) {
  const std::int64_t before_ms = our_time_ms();
  const auto overview = session.api.get("overview");
  if (!overview) return overview.error();
  found.push_back(look_at_version(overview->json));
  found.push_back(look_at_skew(overview->now_ms, before_ms, our_time_ms()));
  add_concerns(overview->json, found);
  const auto server = session.api.get("server");
  if (!server) return server.error();
  look_at_commits(server->json, found);
  const auto queues = cli::read_queues(session, "");
  if (!queues) return queues.error();
  look_at_queues(*queues, url_option(session), found);
  const auto cluster = session.api.get("cluster");
  if (!cluster) return cluster.error();
  look_at_nodes(cli::member(cluster->json, "cluster"), found);
  return Done{};
}

/// Fewer are soon used up by the workers of a few machines.
constexpr std::uint64_t kFilesWanted = 4096;

Finding look_at_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t files = limit.rlim_max;
  Finding finding{.check = "descriptors", .seen = {}};
  finding.seen = limit.rlim_max == RLIM_INFINITY ? "no limit of open files"
                                                 : http::grouped(files) + " files may be open";
  if (files >= kFilesWanted) return finding;
  const std::uint64_t own = server::kDescriptorsOfServer + server::kDescriptorsOfJournal;
  finding.means = "a server started from here serves at most " +
                  http::grouped(files > own ? files - own : 0) + " connections";
  finding.to_do = "raise the hard limit (ulimit -Hn, LimitNOFILE in the unit)";
  return finding;
}

/// The kernel knows whether something keeps its clock right.
Finding look_at_clock() {
  timex clock{};
  const int state = adjtimex(&clock);
  Finding finding{.check = "clock", .seen = "the clock is kept right"};
  if (state < 0) {
    finding.seen = "the system does not tell whether the clock is kept right";
    return finding;
  }
  if (state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0) {
    return finding;
  }
  finding.seen = "nothing keeps the clock of this machine right";
  finding.means = "jobs with a time and cron entries run when this clock says so";
  finding.to_do = "switch on chrony or systemd-timesyncd (in a container: of its host)";
  return finding;
}

/// The limits and the clock of this machine, for a server that is started from here.
void check_machine(Findings& found) {
  found.push_back(look_at_descriptors());
  found.push_back(look_at_clock());
}

cli::Json json_of(const Finding& finding) {
  cli::Json json{{"check", finding.check}, {"is_well", finding.is_well()}, {"seen", finding.seen}};
  if (finding.is_well()) return json;
  json["means"] = finding.means;
  json["to_do"] = finding.to_do;
  if (!finding.command.empty()) json["command"] = finding.command;
  return json;
}

/// A command has a line of its own, however long: it is to be pasted.
void print_finding(cli::Console& console, const Finding& finding) {
  constexpr std::size_t kCheckColumns = 13;
  constexpr std::size_t kIndent = 6 + kCheckColumns;
  std::string name = finding.check;
  name.resize(std::max(kCheckColumns, name.size() + 1), ' ');
  const std::string text = finding.is_well() ? finding.seen : finding.seen + ": " + finding.means;
  const Color color = finding.is_well() ? Color::kGreen : Color::kYellow;
  console.print(
      cli::colored(finding.is_well() ? "ok  " : "look", color, console.look().has_colors) + "  " +
      name + console.broken(text, kIndent) + "\n");
  if (finding.is_well()) return;
  const std::string blanks(kIndent, ' ');
  console.print(blanks + console.broken(finding.to_do, kIndent) + "\n");
  if (finding.command.empty()) return;
  console.print(blanks + "$ " + harmless(finding.command) + "\n");
}

bool is_url(const std::string& target) {
  return target.find("://") != target.npos;
}

/// Without a target it is the server that the session speaks to.
cli::Reply<Findings> find(cli::Session& session, const std::string& target) {
  Findings found;
  if (target.empty() || is_url(target)) {
    const auto checked = check_server(session, found);
    if (!checked) return checked.error();
  } else {
    check_machine(found);
    const auto checked = check_directory_of_data(target, found);
    if (!checked) return cli::Failure{.exit = Exit::kUsage, .text = checked.error().text};
  }
  if (session.choice.password_file.empty()) return found;
  const auto password = check_password_file(session.choice.password_file);
  if (!password) return cli::Failure{.exit = Exit::kUsage, .text = password.error().text};
  found.push_back(*password);
  return found;
}

}  // namespace

cli::Exit look_for_trouble(cli::Session& session) {
  const std::vector<std::string>& words = session.choice.words;
  const std::string target = words.empty() ? "" : words.front();
  if (!words.empty() && target.empty()) return session.refuse_usage("TARGET must not be empty");
  if (!words.empty() && session.choice.has_url) {
    return session.refuse_usage("give TARGET or --url, not both");
  }
  cli::Choice there = session.choice;
  if (is_url(target)) {
    const auto url = cli::parse_server_url(target);
    if (!url) return session.refuse_usage("TARGET " + url.error().text);
    there.url = *url;
    // The more special one wins.
    if (!url->password.empty() && there.password_file.empty()) there.password.clear();
  }
  const bool asks_server = target.empty() || is_url(target);
  if (!there.ca_file.empty() && !(asks_server && there.url.is_https)) {
    return session.refuse_usage("--ca needs a URL that begins with https://");
  }
  cli::Api api(there);
  cli::Session to_target{.choice = there, .api = api, .console = session.console};
  const auto found = find(to_target, target);
  if (!found) return session.fail(found.error());
  const bool is_well = std::ranges::all_of(*found, &Finding::is_well);
  if (session.choice.is_json) {
    cli::Json list = cli::Json::array();
    for (const Finding& finding : *found) list.push_back(json_of(finding));
    session.print({{"is_well", is_well}, {"findings", std::move(list)}});
  } else {
    for (const Finding& finding : *found) print_finding(session.console, finding);
  }
  if (!session.console.finish()) return session.fail({.text = "the output could not be written"});
  return is_well ? Exit::kDone : Exit::kRefused;
}

}  // namespace millrace::tools
