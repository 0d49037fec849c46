#include "tools/command_line/help_format.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cli/show/width.hpp"

namespace millrace::tools {
namespace {

constexpr std::size_t kHelpColumns = 80;

class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_desc(const CLI::Option* option) const override {
    return cli::broken_text(option->get_description(), kHelpColumns - get_column_width());
  }

  [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(
        out, command->get_display_name(true),
        cli::broken_text(command->get_description(), kHelpColumns - get_column_width()),
        get_column_width());
    return out.str();
  }

  /// Each line is a paragraph.
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    std::string out;
    for (std::string_view rest = footer; !rest.empty();) {
      out += cli::broken_text(take_line(rest), kHelpColumns) + "\n";
    }
    return out;
  }
};

}  // namespace

// CLI11 wants it so.
std::shared_ptr<CLI::FormatterBase> help_format() {
  // It is that of all commands.
  return std::make_shared<HelpFormat>();
}

}  // namespace millrace::tools
