#include "cli/show/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/text.hpp"
#include "cli/show/width.hpp"

namespace millrace::cli {
namespace {

constexpr std::size_t kMemberColumns = 12;

std::optional<std::size_t> terminal_columns(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return size.ws_col == 0 ? std::nullopt : std::optional<std::size_t>(size.ws_col);
}

/// 0, or why it failed.
int write(std::string_view text, std::FILE* to) {
  errno = 0;
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() ? 0 : errno;
}

}  // namespace

Console::Console(bool has_colors)
    : look_{.columns = terminal_columns(STDOUT_FILENO),
            .has_colors = has_colors && isatty(STDOUT_FILENO) != 0} {}

void Console::print(std::string_view text) {
  show_progress("");
  const int problem = write(text, stdout);
  if (output_problem_ == 0) output_problem_ = problem;
}

void Console::print_member(std::string_view name, std::string_view text) {
  const std::size_t blanks = kMemberColumns - std::min(kMemberColumns - 1, display_width(name));
  print(colored(std::string(name), Color::kBold, look_.has_colors) + std::string(blanks, ' ') +
        broken(text, kMemberColumns) + "\n");
}

std::string Console::broken(std::string_view text, std::size_t indent) const {
  const std::string whole = harmless(text);
  if (!look_.columns || *look_.columns <= 2 * indent) return whole;
  return broken_text(whole, *look_.columns, indent);
}

void Console::complain(std::string_view text) {
  show_progress("");
  (void)finish();
  write("millrace: " + harmless(text) + "\n", stderr);
}

void Console::show_progress(std::string_view text) {
  const auto columns = terminal_columns(STDERR_FILENO);
  if (!columns || (text.empty() && !has_progress_)) return;
  const std::size_t room = *columns - 1;
  const std::string line = cut_to_width(harmless(text), room);
  // With blanks over what was there before: every terminal knows them.
  write("\r" + line + std::string(room - display_width(line), ' '), stderr);
  if (text.empty()) write("\r", stderr);
  has_progress_ = !text.empty();
}

bool Console::finish() {
  show_progress("");
  errno = 0;
  const int problem = std::fflush(stdout) == 0 ? 0 : errno;
  if (output_problem_ == 0) output_problem_ = problem;
  return output_problem_ == 0 || output_problem_ == EPIPE;
}

bool Console::has_lost_reader() const {
  return output_problem_ == EPIPE;
}

}  // namespace millrace::cli
