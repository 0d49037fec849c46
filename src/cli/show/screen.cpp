#include "cli/show/screen.hpp"

// Functions instead of macros with names such as `move` and `timeout`.
#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cwchar>

#include "cli/show/width.hpp"

namespace millrace::cli {
namespace {

constexpr int kEscapeWaitMs = 25;
constexpr wint_t kEscapeCode = 27;
constexpr wint_t kDeleteCode = 127;

/// Red, green and yellow have pairs of these numbers.
short pair_of(Color color) {
  switch (color) {
    case Color::kRed:
      return 1;
    case Color::kGreen:
      return 2;
    case Color::kYellow:
      return 3;
    case Color::kPlain:
    case Color::kBold:
    case Color::kDim:
      break;
  }
  return 0;
}

attr_t attributes_of(const Screen::Line& line) {
  attr_t attributes = line.is_marked ? A_REVERSE : A_NORMAL;
  if (line.color == Color::kBold) attributes |= A_BOLD;
  if (line.color == Color::kDim) attributes |= A_DIM;
  return attributes;
}

Screen::Input text_of(wint_t code) {
  char bytes[MB_LEN_MAX];
  std::mbstate_t state{};
  const std::size_t size = std::wcrtomb(bytes, static_cast<wchar_t>(code), &state);
  if (size == static_cast<std::size_t>(-1)) return {};
  return {.key = Screen::Key::kText, .text = std::string(bytes, size)};
}

Screen::Key key_of(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Screen::Key::kUp;
    case KEY_DOWN:
      return Screen::Key::kDown;
    case KEY_PPAGE:
      return Screen::Key::kPageUp;
    case KEY_NPAGE:
      return Screen::Key::kPageDown;
    case KEY_ENTER:
      return Screen::Key::kEnter;
    case KEY_BACKSPACE:
      return Screen::Key::kErase;
    case KEY_RESIZE:
      return Screen::Key::kResize;
    default:
      return Screen::Key::kNone;
  }
}

}  // namespace

Outcome<std::unique_ptr<Screen>> Screen::open(bool has_colors) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return Problem{"this is not a terminal"};
  // Names may have any characters, also where nobody has set a locale.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return Problem{"ncurses does not know this terminal; see TERM"};
  if (tigetstr("cup") == nullptr) {
    endwin();
    delscreen(screen);
    return Problem{"this terminal cannot move its cursor; see TERM"};
  }
  return std::unique_ptr<Screen>(new Screen(has_colors));
}

Screen::Screen(bool has_colors) : has_colors_(has_colors && ::has_colors()) {
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, true);
  set_escdelay(kEscapeWaitMs);
  curs_set(0);
  if (!has_colors_) return;
  start_color();
  use_default_colors();
  init_pair(pair_of(Color::kRed), COLOR_RED, -1);
  init_pair(pair_of(Color::kGreen), COLOR_GREEN, -1);
  init_pair(pair_of(Color::kYellow), COLOR_YELLOW, -1);
}

Screen::~Screen() {
  endwin();
}

std::size_t Screen::rows() const {
  return static_cast<std::size_t>(LINES);
}

std::size_t Screen::columns() const {
  return static_cast<std::size_t>(COLS);
}

void Screen::draw(const std::vector<Line>& lines) {
  werase(stdscr);
  for (std::size_t row = 0; row < lines.size() && row < rows(); ++row) {
    const Line& line = lines[row];
    const short pair = has_colors_ ? pair_of(line.color) : short{0};
    wattr_set(stdscr, attributes_of(line), pair, nullptr);
    std::string text = cut_to_width(line.text, columns());
    if (line.is_marked) text += std::string(columns() - display_width(text), ' ');
    wmove(stdscr, static_cast<int>(row), 0);
    waddnstr(stdscr, text.c_str(), -1);
  }
  wattr_set(stdscr, A_NORMAL, 0, nullptr);
  wrefresh(stdscr);
}

Screen::Input Screen::read(std::chrono::milliseconds at_most) {
  wtimeout(stdscr, static_cast<int>(at_most.count()));
  wint_t code = 0;
  const int kind = wget_wch(stdscr, &code);
  if (kind == KEY_CODE_YES) return {.key = key_of(code)};
  if (kind == ERR) return {};
  if (code == kEscapeCode) return {.key = Key::kEscape};
  if (code == kDeleteCode || code == '\b') return {.key = Key::kErase};
  if (code == '\r' || code == '\n') return {.key = Key::kEnter};
  return code < ' ' ? Input{} : text_of(code);
}

}  // namespace millrace::cli
