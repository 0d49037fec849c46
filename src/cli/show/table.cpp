#include "cli/show/table.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "cli/show/width.hpp"

namespace millrace::cli {
namespace {

constexpr std::size_t kGap = 2;
/// No text is cut to less, as long as another one is longer.
constexpr std::size_t kTextColumnsMin = 8;

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

std::vector<std::size_t> Table::widths(const Look& look) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  if (!look.columns) return widths;
  std::size_t all = kGap * (widths.size() - 1);
  for (const std::size_t width : widths) all += width;
  while (all > *look.columns) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].side == Side::kRight || widths[i] <= kTextColumnsMin) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    const std::size_t cut = std::min(all - *look.columns, widths[widest] - kTextColumnsMin);
    // Down to the second widest at most, so that texts of one length are cut alike.
    std::size_t next = kTextColumnsMin;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i == widest || columns_[i].side == Side::kRight) continue;
      next = std::max(next, std::min(widths[i], widths[widest] - 1));
    }
    const std::size_t step = std::clamp<std::size_t>(widths[widest] - next, 1, cut);
    widths[widest] -= step;
    all -= step;
  }
  return widths;
}

std::string Table::line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                        const Look& look) const {
  std::string out;
  std::size_t used = 0;
  std::size_t blanks = 0;  // not written before something follows them
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string text = cut_to_width(row[i].text, widths[i]);
    const std::size_t padding = widths[i] - display_width(text);
    if (columns_[i].side == Side::kRight) blanks += padding;
    if (look.columns) {
      const std::size_t begun = std::min(used + blanks, *look.columns);
      text = cut_to_width(text, *look.columns - begun);
    }
    if (!text.empty()) {
      out += std::string(blanks, ' ') + colored(text, row[i].color, look.has_colors);
      used += blanks + display_width(text);
      blanks = 0;
    }
    blanks += kGap + (columns_[i].side == Side::kLeft ? padding : 0);
  }
  return out + "\n";
}

std::string Table::text(const Look& look) const {
  const std::vector<std::size_t> all = widths(look);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Color::kBold});
  std::string out = line(titles, all, look);
  for (const std::vector<Cell>& row : rows_) out += line(row, all, look);
  return out;
}

}  // namespace millrace::cli
