#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/session.hpp"
#include "cli/show/table.hpp"
#include "tools/doctor/directory_checks.hpp"
#include "tools/doctor/machine_checks.hpp"
#include "tools/doctor/server_checks.hpp"
#include "tools/local/local_verbs.hpp"

namespace millrace::tools {
namespace {

using cli::Color;
using cli::Exit;

cli::Json json_of(const Finding& finding) {
  cli::Json json{{"check", finding.check}, {"is_well", finding.is_well()}, {"seen", finding.seen}};
  if (finding.is_well()) return json;
  json["means"] = finding.means;
  json["to_do"] = finding.to_do;
  if (!finding.command.empty()) json["command"] = finding.command;
  return json;
}

/// A command has a line of its own, however long: it is to be pasted.
void print_finding(cli::Console& console, const Finding& finding) {
  constexpr std::size_t kCheckColumns = 13;
  constexpr std::size_t kIndent = 6 + kCheckColumns;
  std::string name = finding.check;
  name.resize(std::max(kCheckColumns, name.size() + 1), ' ');
  const std::string text = finding.is_well() ? finding.seen : finding.seen + ": " + finding.means;
  const Color color = finding.is_well() ? Color::kGreen : Color::kYellow;
  console.print(
      cli::colored(finding.is_well() ? "ok  " : "look", color, console.look().has_colors) + "  " +
      name + console.broken(text, kIndent) + "\n");
  if (finding.is_well()) return;
  const std::string blanks(kIndent, ' ');
  console.print(blanks + console.broken(finding.to_do, kIndent) + "\n");
  if (finding.command.empty()) return;
  console.print(blanks + "$ " + harmless(finding.command) + "\n");
}

bool is_url(const std::string& target) {
  return target.find("://") != target.npos;
}

/// Without a target it is the server that the session speaks to.
cli::Reply<Findings> find(cli::Session& session, const std::string& target) {
  Findings found;
  if (target.empty() || is_url(target)) {
    const auto checked = check_server(session, found);
    if (!checked) return checked.error();
  } else {
    check_machine(found);
    const auto checked = check_directory_of_data(target, found);
    if (!checked) return cli::Failure{.exit = Exit::kUsage, .text = checked.error().text};
  }
  if (session.choice.password_file.empty()) return found;
  const auto password = check_password_file(session.choice.password_file);
  if (!password) return cli::Failure{.exit = Exit::kUsage, .text = password.error().text};
  found.push_back(*password);
  return found;
}

}  // namespace

cli::Exit look_for_trouble(cli::Session& session) {
  const std::vector<std::string>& words = session.choice.words;
  const std::string target = words.empty() ? "" : words.front();
  if (!words.empty() && target.empty()) return session.refuse_usage("TARGET must not be empty");
  if (!words.empty() && session.choice.has_url) {
    return session.refuse_usage("give TARGET or --url, not both");
  }
  cli::Choice there = session.choice;
  if (is_url(target)) {
    const auto url = cli::parse_server_url(target);
    if (!url) return session.refuse_usage("TARGET " + url.error().text);
    there.url = *url;
    // The more special one wins.
    if (!url->password.empty() && there.password_file.empty()) there.password.clear();
  }
  const bool asks_server = target.empty() || is_url(target);
  if (!there.ca_file.empty() && !(asks_server && there.url.is_https)) {
    return session.refuse_usage("--ca needs a URL that begins with https://");
  }
  cli::Api api(there);
  cli::Session to_target{.choice = there, .api = api, .console = session.console};
  const auto found = find(to_target, target);
  if (!found) return session.fail(found.error());
  const bool is_well = std::ranges::all_of(*found, &Finding::is_well);
  if (session.choice.is_json) {
    cli::Json list = cli::Json::array();
    for (const Finding& finding : *found) list.push_back(json_of(finding));
    session.print({{"is_well", is_well}, {"findings", std::move(list)}});
  } else {
    for (const Finding& finding : *found) print_finding(session.console, finding);
  }
  if (!session.console.finish()) return session.fail({.text = "the output could not be written"});
  return is_well ? Exit::kDone : Exit::kRefused;
}

}  // namespace millrace::tools
