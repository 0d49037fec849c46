#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/show/table.hpp"

namespace millrace::cli {

/// The terminal of a person, drawn upon by ncurses. It is as it was before when this object ends.
/// There is one at a time.
class Screen {
 public:
  struct Line {
    std::string text;  ///< harmless
    Color color = Color::kPlain;
    bool is_marked = false;  ///< the one that keys are about
  };
  enum class Key { kNone, kText, kUp, kDown, kPageUp, kPageDown, kEnter, kErase, kEscape, kResize };
  struct Input {
    Key key = Key::kNone;
    std::string text = {};  ///< one character, with `kText`
  };

  /// A problem: stdin or stdout is no terminal, or one that ncurses does not know.
  [[nodiscard]] static Outcome<std::unique_ptr<Screen>> open(bool has_colors);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] std::size_t columns() const;

  /// From the top on. What does not fit is left out.
  void draw(const std::vector<Line>& lines);

  /// Waits that long at most for a key.
  [[nodiscard]] Input read(std::chrono::milliseconds at_most);

 private:
  explicit Screen(bool has_colors);
  bool has_colors_;
};

}  // namespace millrace::cli
