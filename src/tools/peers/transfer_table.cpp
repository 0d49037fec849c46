#include "tools/peers/transfer_table.hpp"

#include "base/text.hpp"
#include "cli/show/table.hpp"
#include "cli/show/width.hpp"
#include "http/kit/text.hpp"

namespace millrace::tools {
namespace {

/// Longer names are cut.
constexpr std::size_t kShownQueueColumns = 60;

/// Names may come from a damaged file. They often differ at their ends only.
std::string shown_name(std::string_view queue) {
  return cli::cut_middle_to_width(harmless(queue), kShownQueueColumns);
}

}  // namespace

std::uint64_t TransferTable::Row::found() const {
  std::uint64_t count = taken;
  for (const auto& [reason, refused_count] : refused) count += refused_count;
  return count;
}

std::string TransferTable::Row::why() const {
  std::string text;
  for (const auto& [reason, count] : refused) {
    text += (text.empty() ? "" : "; ") + http::grouped(count) + " " + reason;
  }
  return text;
}

TransferTable::Row& TransferTable::row(std::string_view queue, std::string_view state) {
  auto states = rows_.find(queue);
  if (states == rows_.end()) states = rows_.try_emplace(std::string(queue)).first;
  auto found = states->second.find(state);
  if (found == states->second.end()) {
    found = states->second.try_emplace(std::string(state)).first;
  }
  return found->second;
}

TransferTable::Sums TransferTable::sums() const {
  Sums all;
  for (const auto& [queue, states] : rows_) {
    for (const auto& [state, row] : states) {
      all.taken += row.taken;
      all.refused += row.found() - row.taken;
    }
  }
  return all;
}

std::optional<std::string> TransferTable::damage() const {
  const std::uint64_t refused = sums().refused;
  if (refused == 0) return std::nullopt;
  return http::count_of(refused, "job") + " not taken; the table says why";
}

std::string TransferTable::text() const {
  constexpr auto kRight = cli::Table::Side::kRight;
  cli::Table table(
      {{words_.queue}, {"state"}, {"found", kRight}, {words_.taken, kRight}, {words_.refused}});
  for (const auto& [queue, states] : rows_) {
    for (const auto& [state, row] : states) {
      table.add({{shown_name(queue)},
                 {state},
                 {http::grouped(row.found())},
                 {http::grouped(row.taken)},
                 {row.why()}});
    }
  }
  const Sums all = sums();
  table.add({{"all"},
             {""},
             {http::grouped(all.taken + all.refused)},
             {http::grouped(all.taken)},
             {all.refused == 0 ? "" : http::grouped(all.refused)}});
  return table.text({});
}

std::string ids_text(JobId shift) {
  if (shift == 0) return "ids: as they were\n";
  return "ids: " + std::to_string(shift) + " added to each, since smaller ones were used\n";
}

}  // namespace millrace::tools
