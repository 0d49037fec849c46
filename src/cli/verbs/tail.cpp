#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "cli/members.hpp"
#include "cli/show/times.hpp"
#include "cli/show/width.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kTailInterval = 1s;
constexpr const char* kTailPage = "200";
/// Of each list, at each look. What a busier server does is told in part.
constexpr std::size_t kTailRowsMax = 1000;
/// With more queues than this, arrivals are told of those with the most new jobs.
constexpr std::size_t kTailQueuesMax = 20;

/// Something that happened to a job.
struct Change {
  std::string at;  ///< as the API has times; their order is that of the texts
  std::string what;
  Json job;
  std::string detail;
  Color color = Color::kPlain;
};

/// What was there at the last look: by list and job, what tells one stay of the job in the list
/// from another.
using Seen = std::map<std::string, std::string>;

std::string error_text(const Json& job) {
  const Json& error = member(job, "error");
  return text_at(error, "type") + ": " + text_at(error, "message");
}

std::string holder_text(const Json& holder) {
  const std::string wid = text_at(holder, "wid");
  if (!wid.empty()) return "by " + wid;
  const std::string client = text_at(holder, "client");
  return client.empty() ? "" : "by connection " + client;
}

/// One list of the API, and how a row that is new in it is told.
struct TailList {
  const char* name;
  const char* target;
  /// Tells the stay of the job in this list from an earlier one.
  std::string (*stay)(const Json& job);
  Change (*change)(const Json& job, const std::string& now);
};

constexpr TailList kTailLists[] = {
    {"scheduled", "jobs?state=scheduled&order=desc",
     [](const Json& job) { return text_at(job, "when"); },
     [](const Json& job, const std::string& now) {
       return Change{now, "scheduled", job, "due " + text_at(job, "when"), Color::kDim};
     }},
    {"reserved", "jobs?state=reserved&order=desc",
     [](const Json& job) { return text_at(member(job, "reservation"), "since"); },
     [](const Json& job, const std::string&) {
       const Json& holder = member(job, "reservation");
       return Change{text_at(holder, "since"), "begun", job, holder_text(holder), Color::kPlain};
     }},
    {"retrying", "jobs?state=retrying&order=desc",
     [](const Json& job) { return text_at(member(job, "error"), "failures"); },
     [](const Json& job, const std::string& now) {
       return Change{now, "failed", job, error_text(job), Color::kYellow};
     }},
    {"dead", "jobs?state=dead&order=desc", [](const Json& job) { return text_at(job, "when"); },
     [](const Json& job, const std::string&) {
       const bool has_failed = !text_at(member(job, "error"), "type").empty();
       return Change{text_at(job, "when"), "dead", job, has_failed ? error_text(job) : "",
                     Color::kRed};
     }},
    {"finished", "finished", [](const Json& job) { return text_at(job, "ended_at"); },
     [](const Json& job, const std::string&) {
       const std::string outcome = text_at(job, "outcome");
       return Change{text_at(job, "ended_at"), outcome, job, holder_text(job),
                     outcome == "done" ? Color::kGreen : Color::kYellow};
     }},
};

/// Looks again and again, and tells what has changed since the last look.
class Tail {
 public:
  explicit Tail(Session& session) : session_(session) {}

  Exit run() {
    do {
      changes_.clear();
      if (const auto looked = look_or_end(); !looked) return session_.fail(looked.error());
      if (has_looked_) tell();
      has_looked_ = true;
      if (!session_.console.finish() || session_.console.has_lost_reader()) return Exit::kDone;
    } while (!interrupts_.wait(kTailInterval));
    return Exit::kDone;
  }

 private:
  /// The server may take long to answer. Nothing was begun that a signal could cut.
  Reply<Done> look_or_end() {
    const Interrupts::Ending ending(Exit::kDone, "");
    return look();
  }

  Reply<Done> look() {
    for (const TailList& list : kTailLists) {
      if (auto looked = look_at(list); !looked) return looked;
    }
    return look_at_arrivals();
  }

  Reply<Done> look_at(const TailList& list) {
    std::string target = list.target;
    add_filters(target, session_.choice);
    add_parameter(target, "limit", kTailPage);
    Seen now;
    Seen& before = seen_[list.name];
    const auto last = each_page(session_, target, [&](const Answer& page) {
      note_instance(page);
      bool has_known = false;
      for (const Json& job : member(page.json, "jobs")) {
        const std::string id = text_at(job, "id");
        std::string stay = list.stay(job);
        const auto known = before.find(id);
        const bool is_new = known == before.end() || known->second != stay;
        if (is_new) changes_.push_back(list.change(job, show_time_ms(page.now_ms)));
        has_known = has_known || !is_new;
        now[id] = std::move(stay);
      }
      // Finished jobs come latest first: what follows a known one is known.
      const bool is_enough = std::string_view(list.name) == "finished" && has_known;
      return !is_enough && now.size() < kTailRowsMax;
    });
    if (!last) return last.error();
    before = std::move(now);
    return Done{};
  }

  /// Ready jobs may be many, so only those at the end of each queue are looked at.
  Reply<Done> look_at_arrivals() {
    auto queues = read_queues(session_, "");
    if (!queues) return queues.error();
    std::vector<Json> busy;
    for (const Json& queue : member(queues->document, "queues")) {
      if (count_at(queue, "ready") > 0) busy.push_back(queue);
    }
    const auto arrivals = [](const Json& queue) {
      const Json& rate = member(queue, "enqueued_per_s");
      return rate.is_number() ? rate.get<double>() : 0.0;
    };
    std::stable_sort(busy.begin(), busy.end(),
                     [&](const Json& a, const Json& b) { return arrivals(a) > arrivals(b); });
    if (busy.size() > kTailQueuesMax) busy.resize(kTailQueuesMax);
    std::string newest = newest_arrival_;
    for (const Json& queue : busy) {
      const auto looked = look_at_queue(text_at(queue, "name"), newest);
      if (!looked) return looked.error();
    }
    newest_arrival_ = std::move(newest);
    return Done{};
  }

  Reply<Done> look_at_queue(const std::string& name, std::string& newest) {
    std::string target = "jobs?state=ready&order=desc";
    add_parameter(target, "limit", kTailPage);
    bool is_named = true;
    for (const Filter& filter : session_.choice.filters) {
      if (filter.name == "queue") is_named = is_match(name, filter.text);
      if (filter.name != "queue") add_parameter(target, filter.name, filter.text);
    }
    // A name that ends with * would match others, too.
    if (!is_named || name.ends_with('*')) return Done{};
    add_parameter(target, "queue", name);
    const auto page = session_.api.get(target);
    if (!page) return page.error();
    for (const Json& job : member(page->json, "jobs")) {
      const std::string at = text_at(job, "enqueued_at");
      if (at <= newest_arrival_) continue;
      newest = std::max(newest, at);
      changes_.push_back({at, "ready", job, "", Color::kDim});
    }
    return Done{};
  }

  static bool is_match(const std::string& name, std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
  }

  /// After a restart, numbers of jobs may mean others.
  void note_instance(const Answer& answer) {
    if (instance_ == answer.instance) return;
    if (!instance_.empty()) session_.console.complain("the server was restarted");
    instance_ = answer.instance;
  }

  void tell() {
    // Lists begin with their newest jobs, and many may be of one millisecond.
    const auto place = [](const Change& change) {
      return std::pair(std::string_view(change.at), count_at(change.job, "id"));
    };
    std::stable_sort(changes_.begin(), changes_.end(),
                     [&](const Change& a, const Change& b) { return place(a) < place(b); });
    for (const Change& change : changes_) tell(change);
  }

  void tell(const Change& change) {
    if (session_.choice.is_json) {
      session_.print({{"at", change.at}, {"event", change.what}, {"job", change.job}});
      return;
    }
    constexpr std::size_t kEventColumns = 11;
    std::string what = change.what;
    what.resize(std::max(kEventColumns, what.size() + 1), ' ');
    std::string text = text_at(change.job, "queue") + "  " + text_at(change.job, "type") +
                       "  job " + text_at(change.job, "id");
    if (!change.detail.empty()) text += "  " + change.detail;
    text = harmless(text);
    const auto& look = session_.console.look();
    const std::size_t room = kEventColumns + std::string("00:00:00  ").size();
    if (look.columns) text = cut_to_width(text, std::max(*look.columns, room + 1) - room);
    // The time of day, in UTC as everywhere.
    session_.console.print(change.at.substr(std::min<std::size_t>(11, change.at.size()), 8) + "  " +
                           colored(what, change.color, look.has_colors) + text + "\n");
  }

  Session& session_;
  Interrupts interrupts_;
  std::map<std::string, Seen> seen_;  ///< by list
  std::string newest_arrival_;
  std::string instance_;
  std::vector<Change> changes_;
  bool has_looked_ = false;
};

}  // namespace

Exit tail_jobs(Session& session) {
  return Tail(session).run();
}

}  // namespace millrace::cli
