#pragma once

#include <string>
#include <string_view>

#include "cli/show/table.hpp"

namespace millrace::cli {

/// stdout and stderr of a verb.
class Console {
 public:
  /// Colors are used on a terminal only.
  explicit Console(bool has_colors);

  /// Tables for stdout: as wide as the terminal, if it is one.
  [[nodiscard]] const Table::Look& look() const { return look_; }

  /// To stdout, as it is.
  void print(std::string_view text);
  /// `name  text`, with names of the same width, and the text broken into lines.
  void print_member(std::string_view name, std::string_view text);
  /// The text, made harmless. On a terminal it is broken at blanks into lines, with so many blanks
  /// in front of each but the first.
  [[nodiscard]] std::string broken(std::string_view text, std::size_t indent) const;
  /// One line on stderr, made harmless.
  void complain(std::string_view text);

  /// Replaces the last progress by this one, if stderr is a terminal. An empty one takes it away.
  void show_progress(std::string_view text);

  /// Writes what is kept. False: stdout did not take all. A reader that has gone is no fault.
  [[nodiscard]] bool finish();
  /// Nobody reads stdout any more.
  [[nodiscard]] bool has_lost_reader() const;

 private:
  Table::Look look_;
  bool has_progress_ = false;
  int output_problem_ = 0;  ///< the first that stdout had, as errno has it
};

}  // namespace millrace::cli
