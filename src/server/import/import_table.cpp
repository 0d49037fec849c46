#include "server/import/import_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::server {
namespace {

/// Longer names are cut.
constexpr std::size_t kShownQueueBytes = 60;

using ImportLine = std::array<std::string, 5>;

/// Names may come from a damaged file.
std::string shown_name(std::string_view queue) {
  std::string name = one_line(queue, kShownQueueBytes);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

/// Names to the left, numbers to the right, reasons as they are.
std::string aligned(const std::vector<ImportLine>& lines) {
  std::array<std::size_t, 5> widths{};
  for (const ImportLine& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const ImportLine& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - line[i].size(), ' ');
      const bool is_number = i == 2 || i == 3;
      row += (i > 0 ? "  " : "") + (is_number ? blanks + line[i] : line[i] + blanks);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace

std::uint64_t ImportTable::Row::found() const {
  std::uint64_t count = taken;
  for (const auto& [reason, refused_count] : refused) count += refused_count;
  return count;
}

std::string ImportTable::Row::why() const {
  std::string text;
  for (const auto& [reason, count] : refused) {
    text += (text.empty() ? "" : "; ") + http::grouped(count) + " " + reason;
  }
  return text;
}

ImportTable::Row& ImportTable::row(std::string_view queue, std::string_view state) {
  auto states = rows_.find(queue);
  if (states == rows_.end()) states = rows_.try_emplace(std::string(queue)).first;
  auto found = states->second.find(state);
  if (found == states->second.end()) {
    found = states->second.try_emplace(std::string(state)).first;
  }
  return found->second;
}

ImportTable::Sums ImportTable::sums() const {
  Sums all;
  for (const auto& [queue, states] : rows_) {
    for (const auto& [state, row] : states) {
      all.taken += row.taken;
      all.refused += row.found() - row.taken;
    }
  }
  return all;
}

std::optional<std::string> ImportTable::damage() const {
  const std::uint64_t refused = sums().refused;
  if (refused == 0) return std::nullopt;
  return http::count_of(refused, "job") + " not taken; the table says why";
}

std::string ImportTable::text() const {
  std::vector<ImportLine> lines = {{words_.queue, "state", "found", words_.taken, words_.refused}};
  for (const auto& [queue, states] : rows_) {
    for (const auto& [state, row] : states) {
      lines.push_back({shown_name(queue), state, http::grouped(row.found()),
                       http::grouped(row.taken), row.why()});
    }
  }
  const Sums all = sums();
  lines.push_back({"all", "", http::grouped(all.taken + all.refused), http::grouped(all.taken),
                   all.refused == 0 ? "" : http::grouped(all.refused)});
  return aligned(lines);
}

std::string ids_text(JobId shift) {
  if (shift == 0) return "ids: as they were\n";
  return "ids: " + std::to_string(shift) + " added to each, since smaller ones were used\n";
}

}  // namespace millrace::server
