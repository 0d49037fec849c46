#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/ports/cron_board.hpp"
#include "faktory/service.hpp"

namespace millrace::http {

/// Cron entries that a test sets. A run pushes a job of the entry's type into its queue.
class CronTable final : public CronBoard {
 public:
  explicit CronTable(faktory::Service& service) : service_(service) {}

  [[nodiscard]] std::size_t count() const override { return entries.size(); }

  [[nodiscard]] std::vector<Entry> page(std::size_t begin, std::size_t limit) const override {
    begin = std::min(begin, entries.size());
    const std::size_t end = begin + std::min(limit, entries.size() - begin);
    return {entries.begin() + static_cast<std::ptrdiff_t>(begin),
            entries.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  [[nodiscard]] std::optional<Entry> find(std::string_view id) const override {
    for (const Entry& entry : entries) {
      if (entry.id == id) return entry;
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<std::string, PushRefusal> run_now(std::string_view id, Time now) override {
    if (no_run) return *no_run;
    Entry& entry = *edit(id);
    const std::string jid = "cron-run-" + std::to_string(++runs_);
    const Result<JobId, PushRefusal> pushed =
        service_.push(R"({"jid":")" + jid + R"(","jobtype":")" + entry.jobtype +
                          R"(","args":[],"queue":")" + entry.queue + "\"}",
                      now);
    if (!pushed) return pushed.error();
    entry.runs.push_back(
        {.planned = now, .at = now, .job = *pushed, .jid = jid, .problem = {}, .is_by_hand = true});
    return jid;
  }

  Answer<Done> pause(std::string_view id, Time) override { return turn(id, true); }
  Answer<Done> resume(std::string_view id, Time) override { return turn(id, false); }

  std::vector<Entry> entries;
  std::optional<PushRefusal> no_run;  ///< why each run is refused
  std::optional<Refusal> refusal;     ///< why each pause is

 private:
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
  int runs_ = 0;
};

}  // namespace millrace::http
