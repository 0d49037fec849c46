#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cli {

enum class Color { kPlain, kBold, kDim, kRed, kGreen, kYellow };

/// The text between the codes of a color; as it is, if colors are not wanted.
[[nodiscard]] std::string colored(const std::string& text, Color color, bool has_colors);

/// Rows under titles, aligned by the columns that they take on a terminal.
class Table {
 public:
  enum class Side { kLeft, kRight };
  /// What a text loses where there is too little room. Columns to the right have numbers, which are
  /// never cut.
  enum class Cut { kEnd, kMiddle, kNever };
  struct Column {
    std::string title;
    Side side = Side::kLeft;
    Cut cut = Cut::kEnd;
    /// Where texts would be cut too much, the columns of the highest rank are left out first; those
    /// of rank 0 never.
    int rank = 0;
  };
  /// The text may have any characters: those that a terminal obeys are made harmless.
  struct Cell {
    std::string text;
    Color color = Color::kPlain;
  };
  struct Look {
    std::optional<std::size_t> columns;  ///< of the terminal; nullopt: as wide as it has to be
    bool has_colors = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A cell for each column.
  void add(std::vector<Cell> row);
  [[nodiscard]] bool is_empty() const { return rows_.empty(); }

  /// Lines with their ends, the titles first. Where the terminal is too narrow, columns are left
  /// out by their ranks, then the widest texts are cut, and at last the line is.
  [[nodiscard]] std::string text(const Look& look) const;

 private:
  /// A column that is shown.
  struct Shown {
    std::size_t column = 0;
    std::size_t width = 0;
  };
  [[nodiscard]] std::vector<std::size_t> whole_widths() const;
  [[nodiscard]] std::vector<Shown> shown(const Look& look) const;
  [[nodiscard]] bool may_cut(std::size_t column) const;
  void cut(std::vector<Shown>& all, std::size_t columns) const;
  [[nodiscard]] std::string line(const std::vector<Cell>& row, const std::vector<Shown>& all,
                                 const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace millrace::cli
