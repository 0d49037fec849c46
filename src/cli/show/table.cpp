#include "cli/show/table.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "cli/show/width.hpp"

namespace millrace::cli {
namespace {

constexpr std::size_t kGap = 2;
/// No text is cut to less, as long as another one is longer.
constexpr std::size_t kTextColumnsMin = 8;
/// So much tells names apart. Columns with a rank are left out before a text is cut to less.
constexpr std::size_t kReadableColumns = 16;

const char* code_of(Color color) {
  switch (color) {
    case Color::kPlain:
      return "";
    case Color::kBold:
      return "\x1b[1m";
    case Color::kDim:
      return "\x1b[2m";
    case Color::kRed:
      return "\x1b[31m";
    case Color::kGreen:
      return "\x1b[32m";
    case Color::kYellow:
      return "\x1b[33m";
  }
  return "";
}

}  // namespace

std::string colored(const std::string& text, Color color, bool has_colors) {
  if (!has_colors || color == Color::kPlain || text.empty()) return text;
  return code_of(color) + text + "\x1b[0m";
}

void Table::add(std::vector<Cell> row) {
  CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = harmless(cell.text);
  rows_.push_back(std::move(row));
}

bool Table::may_cut(std::size_t column) const {
  return columns_[column].side == Side::kLeft && columns_[column].cut != Cut::kNever;
}

std::vector<std::size_t> Table::whole_widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  return widths;
}

std::vector<Table::Shown> Table::shown(const Look& look) const {
  const std::vector<std::size_t> widths = whole_widths();
  int rank = 0;
  for (const Column& column : columns_) rank = std::max(rank, column.rank);
  while (true) {
    std::vector<Shown> all;
    std::size_t needed = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].rank > rank) continue;
      all.push_back({.column = i, .width = widths[i]});
      needed += kGap + (may_cut(i) ? std::min(widths[i], kReadableColumns) : widths[i]);
    }
    if (look.columns && needed > *look.columns + kGap && rank > 0) {
      --rank;
      continue;
    }
    if (look.columns) cut(all, *look.columns);
    return all;
  }
}

void Table::cut(std::vector<Shown>& all, std::size_t columns) const {
  std::size_t sum = kGap * (all.size() - 1);
  for (const Shown& each : all) sum += each.width;
  while (sum > columns) {
    Shown* widest = nullptr;
    for (Shown& each : all) {
      if (!may_cut(each.column) || each.width <= kTextColumnsMin) continue;
      if (widest == nullptr || each.width > widest->width) widest = &each;
    }
    if (widest == nullptr) break;
    // Down to the second widest at most, so that texts of one length are cut alike.
    std::size_t next = kTextColumnsMin;
    for (const Shown& each : all) {
      if (&each == widest || !may_cut(each.column)) continue;
      next = std::max(next, std::min(each.width, widest->width - 1));
    }
    const std::size_t step = std::min(sum - columns, widest->width - next);
    widest->width -= step;
    sum -= step;
  }
}

std::string Table::line(const std::vector<Cell>& row, const std::vector<Shown>& all,
                        const Look& look) const {
  std::string out;
  std::size_t used = 0;
  std::size_t blanks = 0;  // not written before something follows them
  for (const auto& [column, width] : all) {
    const bool is_middle = columns_[column].cut == Cut::kMiddle;
    std::string text = is_middle ? cut_middle_to_width(row[column].text, width)
                                 : cut_to_width(row[column].text, width);
    const std::size_t padding = width - display_width(text);
    if (columns_[column].side == Side::kRight) blanks += padding;
    if (look.columns) {
      const std::size_t begun = std::min(used + blanks, *look.columns);
      text = cut_to_width(text, *look.columns - begun);
    }
    if (!text.empty()) {
      out += std::string(blanks, ' ') + colored(text, row[column].color, look.has_colors);
      used += blanks + display_width(text);
      blanks = 0;
    }
    blanks += kGap + (columns_[column].side == Side::kLeft ? padding : 0);
  }
  return out + "\n";
}

std::string Table::text(const Look& look) const {
  const std::vector<Shown> all = shown(look);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Color::kBold});
  std::string out = line(titles, all, look);
  for (const std::vector<Cell>& row : rows_) out += line(row, all, look);
  return out;
}

}  // namespace millrace::cli
