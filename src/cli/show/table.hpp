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
  struct Column {
    std::string title;
    Side side = Side::kLeft;
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

  /// Lines with their ends, the titles first. Where the terminal is too narrow, the widest texts
  /// are cut, never numbers, until the rest of the line has to be.
  [[nodiscard]] std::string text(const Look& look) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(const Look& look) const;
  [[nodiscard]] std::string line(const std::vector<Cell>& row,
                                 const std::vector<std::size_t>& widths, const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace millrace::cli
