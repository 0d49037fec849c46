#include "server/options/shell/man_page.hpp"

#include <string_view>

namespace millrace::server {
namespace {

/// As it is read: without what roff would take for its own.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') out += '\\';
    if (c == '\\') {
      out += R"(\e)";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return R"(\fB)" + roff(text) + R"(\fR)";
}

std::string italic(std::string_view text) {
  return R"(\fI)" + roff(text) + R"(\fR)";
}

/// A line of text. The characters in front keep roff from taking it for a request.
std::string text_line(std::string_view text) {
  return R"(\&)" + roff(text) + "\n";
}

void add_option(std::string& out, const ShownOption& option) {
  const std::string name = option.is_positional ? italic(option.flag) : bold(option.flag);
  out += ".TP\n" + name + (option.value.empty() ? "" : " " + italic(option.value)) + "\n" +
         text_line(option.help);
}

void add_command(std::string& out, const ShownCommand& command) {
  out += ".SS millrace " + command.name + "\n" + text_line(command.help + ".");
  for (const ShownOption& option : command.options) {
    if (option.flag != "--help") add_option(out, option);
  }
  if (!command.footer.empty()) out += ".PP\n" + text_line(command.footer);
}

}  // namespace

std::string man_page(std::span<const ShownCommand> commands) {
  std::string out = ".TH MILLRACE 1 \"\" \"millrace " MILLRACE_VERSION
                    "\" \"User Commands\"\n"
                    ".SH NAME\n"
                    "millrace \\- one job server for beanstalk and Faktory clients\n"
                    ".SH SYNOPSIS\n";
  const char* between = "";
  for (const ShownCommand& command : commands) {
    out += between + bold("millrace " + command.name);
    for (const ShownOption& option : command.options) {
      if (!option.is_positional) continue;
      const std::string word = italic(option.flag) + (option.is_repeated ? "..." : "");
      out += option.is_optional ? " [" + word + "]" : " " + word;
    }
    out += " [" + italic("options") + "]\n";
    between = ".br\n";
  }
  out +=
      ".SH DESCRIPTION\n"
      "Millrace keeps queues of jobs. Clients of beanstalkd connect to port 11300, workers and\n"
      "clients of Faktory to port 7419, and browsers to port 7420. A job that was put over one\n"
      "protocol can be taken over the other. What was acknowledged survives a crash.\n"
      ".PP\n"
      "Started under the name\n" +
      bold("beanstalkd") + "\nor\n" + bold("faktory") +
      "\nit takes the flags and the environment of that server.\n"
      ".SH COMMANDS\n";
  for (const ShownCommand& command : commands) add_command(out, command);
  return out;
}

}  // namespace millrace::server
