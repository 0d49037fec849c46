#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/ports/cron_board.hpp"
#include "faktory/service.hpp"

namespace millrace::http {

/// Cron entries that a test sets. A run pushes a job of the entry's type into its queue, and the
/// broker remembers it.
class CronTable final : public CronBoard {
 public:
  CronTable(faktory::Service& service, Broker& broker) : service_(service), broker_(broker) {}

  [[nodiscard]] std::size_t count() const override { return entries.size(); }

  [[nodiscard]] std::vector<Entry> page(std::size_t begin, std::size_t limit) const override {
    begin = std::min(begin, entries.size());
    const std::size_t end = begin + std::min(limit, entries.size() - begin);
    std::vector<Entry> found;
    for (std::size_t i = begin; i < end; ++i) found.push_back(with_runs(entries[i]));
    return found;
  }

  [[nodiscard]] std::optional<Entry> find(std::string_view id) const override {
    for (const Entry& entry : entries) {
      if (entry.id == id) return with_runs(entry);
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<std::string, PushRefusal> run_now(std::string_view id, Time now) override {
    if (no_run) return *no_run;
    const Entry& entry = *edit(id);
    const std::string jid = "cron-run-" + std::to_string(++runs_);
    const Result<JobId, PushRefusal> pushed =
        service_.push(R"({"jid":")" + jid + R"(","jobtype":")" + entry.jobtype +
                          R"(","args":[],"queue":")" + entry.queue + "\"}",
                      now, access::Caller::everybody());
    if (!pushed) return pushed.error();
    (void)broker_.cron().begin(id, 1, now);
    broker_.cron().note(
        id, {.planned = now, .at = now, .job = *pushed, .jid = jid, .is_by_hand = true});
    return jid;
  }

  Answer<Done> pause(std::string_view id, Time) override { return turn(id, true); }
  Answer<Done> resume(std::string_view id, Time) override { return turn(id, false); }

  std::vector<Entry> entries;
  std::optional<PushRefusal> no_run;  ///< why each run is refused
  std::optional<Refusal> refusal;     ///< why each pause is

 private:
  /// Those that the broker remembers come after those that the test has set.
  [[nodiscard]] Entry with_runs(Entry entry) const {
    const CronEntry* const known = broker_.view().cron().find(entry.id);
    if (known != nullptr) {
      entry.runs.insert(entry.runs.end(), known->runs.begin(), known->runs.end());
    }
    return entry;
  }

  Entry* edit(std::string_view id) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.id == id; });
    return found == entries.end() ? nullptr : &*found;
  }

  Answer<Done> turn(std::string_view id, bool is_paused) {
    if (refusal) return *refusal;
    Entry* const entry = edit(id);
    if (entry == nullptr) return Refusal::kNotFound;
    entry->is_paused = is_paused;
    return Done{};
  }

  faktory::Service& service_;
  Broker& broker_;
  int runs_ = 0;
};

}  // namespace millrace::http
