#include "simulation/failover/totals.hpp"

#include <array>

namespace millrace::simulation {
namespace {

struct Row {
  std::uint64_t FailoverTotals::*number;
  const char* what;
};

constexpr std::array kRows = {
    Row{&FailoverTotals::worlds, "worlds of two or three servers"},
    Row{&FailoverTotals::operations, "operations of their clients"},
    Row{&FailoverTotals::replies, "replies received"},
    Row{&FailoverTotals::batches, "batches appended by leaders"},
    Row{&FailoverTotals::batches_lost, "of them lost with their leader, that nobody had heard of"},
    Row{&FailoverTotals::claims, "claims stored"},
    Row{&FailoverTotals::beats, "beats stored"},
    Row{&FailoverTotals::spreads, "times that all failed jobs were retried, within some time"},
    Row{&FailoverTotals::strays, "entries stored behind refused ones, which do not count"},
    Row{&FailoverTotals::takeovers, "takeovers"},
    Row{&FailoverTotals::stale_leaders, "leaders by a claim that another one had followed"},
    Row{&FailoverTotals::deposed, "deposed leaders that learned of it"},
    Row{&FailoverTotals::resumed, "leaders that went on after their lease had been over"},
    Row{&FailoverTotals::unheard_commands, "commands to a deposed leader, without an answer"},
    Row{&FailoverTotals::handovers, "orderly handovers"},
    Row{&FailoverTotals::kills, "processes killed"},
    Row{&FailoverTotals::power_cuts, "power cuts"},
    Row{&FailoverTotals::wiped_caches, "caches wiped"},
    Row{&FailoverTotals::damaged_caches, "caches found damaged, and discarded"},
    Row{&FailoverTotals::trimmed_away, "caches discarded, since the log was trimmed beyond them"},
    Row{&FailoverTotals::pauses, "processes paused"},
    Row{&FailoverTotals::cuts, "connections to the log service cut"},
    Row{&FailoverTotals::requests_lost, "requests to the log service lost"},
    Row{&FailoverTotals::answers_lost, "times that its answers were late or lost"},
    Row{&FailoverTotals::late_requests, "requests that it got after the end of their process"},
    Row{&FailoverTotals::entries_in_parts, "entries that it got in part"},
    Row{&FailoverTotals::segments_removed, "segments removed by compaction"},
    Row{&FailoverTotals::messages_trimmed, "messages trimmed from the log"},
};

static_assert(sizeof(FailoverTotals) == kRows.size() * sizeof(std::uint64_t));

}  // namespace

FailoverTotals& FailoverTotals::operator+=(const FailoverTotals& other) {
  for (const Row& row : kRows) this->*row.number += other.*row.number;
  return *this;
}

std::string to_text(const FailoverTotals& totals) {
  std::string text;
  for (const Row& row : kRows) {
    text += std::to_string(totals.*row.number) + " " + row.what + "\n";
  }
  return text;
}

}  // namespace millrace::simulation
