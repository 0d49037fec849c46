#include <string_view>

#include "base/text.hpp"
#include "tools/command_line/command_line.hpp"

namespace millrace::tools {
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
  const std::string letter = option.letter.empty() ? "" : bold(option.letter) + ", ";
  const std::string name = option.is_positional ? italic(option.flag) : letter + bold(option.flag);
  out += ".TP\n" + name + (option.value.empty() ? "" : " " + italic(option.value)) + "\n" +
         text_line(option.help);
}

/// Each line is a paragraph.
void add_footer(std::string& out, std::string_view footer) {
  while (!footer.empty()) out += ".PP\n" + text_line(take_line(footer));
}

void add_command(std::string& out, const ShownCommand& command) {
  out += ".SS millrace " + command.name + "\n" + text_line(command.help + ".");
  for (const ShownOption& option : command.options) {
    if (option.flag != "--help") add_option(out, option);
  }
  out += ".PP\nExamples:\n.PP\n.nf\n.RS\n";
  for (const std::string& example : command.examples) out += text_line(example);
  out += ".RE\n.fi\n";
  add_footer(out, command.footer);
}

struct Item {
  const char* name;
  const char* text;
};

constexpr Item kStatuses[] = {
    {"0", "Done."},
    {"1", "Not done, or not all of it: the server refused, or nothing matched."},
    {"2", "Wrong arguments."},
    {"3", "The server cannot be reached."},
    {"4", "A unique job is there already; a journal is damaged; not all jobs were moved."},
    {"130", "Ctrl-C ended it."},
};

constexpr Item kVariables[] = {
    {"MILLRACE_URL", "Where the web port of the server is, for the commands that ask one."},
    {"MILLRACE_PASSWORD", "The password for these commands."},
    {"MILLRACE_TOKEN", "A token for these commands but tokens, instead of a password."},
    {"FAKTORY_URL",
     "Without MILLRACE_URL: the host and the password of a server that has the usual ports; its "
     "web "
     "port is 7420."},
    {"BEANSTALKD_URL", "Where the beanstalk port is, for put and fetch."},
    {"FAKTORY_PASSWORD",
     "The password of the server that serve starts, or the path of its file; for export, that of "
     "the other server."},
    {"REDISCLI_AUTH", "For import: the password of the Redis of Faktory."},
    {"TMPDIR", "For import: where files are kept meanwhile."},
    {"NO_COLOR", "If it is not empty, nothing is colored. So it is with TERM=dumb."},
    {"MILLRACE_DATA", "Every other option of serve has such a variable, too."},
};

constexpr Item kFiles[] = {
    {"/etc/millrace/millrace.toml", "The config file of the service that packages install."},
    {"/etc/millrace/conf.d", "Its cron entries, limits and statsd, in *.toml."},
    {"/var/lib/millrace", "Its jobs."},
    {"./millrace-data", "The jobs of serve without --data."},
};

void add_items(std::string& out, const char* title, std::span<const Item> items) {
  out += std::string(".SH ") + title + "\n";
  for (const Item& item : items) out += ".TP\n" + bold(item.name) + "\n" + text_line(item.text);
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
  add_items(out, "EXIT STATUS", kStatuses);
  out += ".PP\nEach command above says what its statuses mean.\n";
  add_items(out, "ENVIRONMENT", kVariables);
  add_items(out, "FILES", kFiles);
  out += ".SH SEE ALSO\n" + bold("beanstalkd") + "(1),\n" + bold("systemd.socket") + "(5)\n";
  return out;
}

}  // namespace millrace::tools
