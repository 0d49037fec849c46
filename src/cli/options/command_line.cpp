#include "cli/options/command_line.hpp"

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/options/verb_rows.hpp"

namespace millrace::cli {
namespace {

bool has_option(const VerbRow& verb, const VerbOption& option) {
  return (verb.groups & option.groups) != 0;
}

bool is_many(const VerbWord& word) {
  return word.number == VerbWord::Number::kMany || word.number == VerbWord::Number::kAny;
}

/// As CLI11 takes them: `-q,--queue`.
std::string flags_of(const VerbOption& option) {
  const std::string name = std::string("--") + option.name;
  return option.letter == 0 ? name : std::string("-") + option.letter + "," + name;
}

/// What a refusal of the value names: where it may have come from.
std::string source_of(const VerbOption& option) {
  const std::string flag = std::string("--") + option.name;
  return option.variable == nullptr ? flag : flag + ", or " + option.variable + ",";
}

}  // namespace

CommandLine::CommandLine(CLI::App& app) : given_(verb_rows().size()) {
  for (std::size_t i = 0; i < given_.size(); ++i) add(app, given_[i], verb_rows()[i]);
}

void CommandLine::add(CLI::App& app, Given& given, const VerbRow& verb) {
  const auto others =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == verb.name; });
  const bool is_new = others.empty();
  given.command = is_new ? app.add_subcommand(verb.name, verb.help == nullptr ? "" : verb.help)
                         : others.front();
  const std::string footer = given.command->get_footer();
  given.command->footer(footer + (is_new ? "" : "\n") + verb.footer);
  for (std::size_t i = 0; i < verb.words.size(); ++i) {
    const VerbWord& word = verb.words[i];
    if (word.name == nullptr) continue;
    CLI::Option* const added =
        is_many(word) ? given.command->add_option(word.name, given.list, word.help)
                      : given.command->add_option(word.name, given.words[i], word.help);
    added->type_name("");
    const bool is_needed =
        word.number == VerbWord::Number::kOne || word.number == VerbWord::Number::kMany;
    if (is_needed) added->required();
  }
  given.command->option_defaults()->take_last();
  given.values.resize(verb_options().size());
  for (std::size_t i = 0; i < verb_options().size(); ++i) {
    const VerbOption& option = verb_options()[i];
    if (!has_option(verb, option)) continue;
    const std::string flag = flags_of(option);
    if (given.command->get_option_no_throw(std::string("--") + option.name) != nullptr) continue;
    CLI::Option* const added = option.value == nullptr
                                   ? given.command->add_flag(flag, given.values[i], option.help)
                                   : given.command->add_option(flag, given.values[i], option.help)
                                         ->type_name(option.value);
    if (option.variable != nullptr) added->envname(option.variable);
  }
}

bool CommandLine::is_given() const {
  for (const Given& each : given_) {
    if (each.command->parsed()) return true;
  }
  return false;
}

Outcome<Done> CommandLine::read_words(const Given& given, const VerbRow& verb, Choice& choice) {
  for (std::size_t i = 0; i < verb.words.size(); ++i) {
    if (verb.words[i].name == nullptr || is_many(verb.words[i])) continue;
    const bool is_there = given.command->get_option(verb.words[i].name)->count() > 0;
    if (is_there) choice.words.push_back(given.words[i]);
  }
  choice.words.insert(choice.words.end(), given.list.begin(), given.list.end());
  for (const std::string& word : choice.words) {
    if (!is_utf8(word)) return Problem{"an argument is not UTF-8"};
  }
  return Done{};
}

Outcome<Done> CommandLine::read_options(const Given& given, const VerbRow& verb, Choice& choice) {
  for (std::size_t i = 0; i < verb_options().size(); ++i) {
    const VerbOption& option = verb_options()[i];
    const std::string flag = std::string("--") + option.name;
    if (!has_option(verb, option) || given.command->get_option(flag)->count() == 0) continue;
    // An option of its own has its value elsewhere.
    const std::string value = given.command->get_option(flag)->results().back();
    // Paths may be any bytes. All other values are sent to the server.
    const bool is_sent = (option.groups & (kServer | kJobPort)) == 0;
    if (is_sent && !is_utf8(value)) return Problem{flag + " is not UTF-8"};
    const auto applied = option.apply(choice, value);
    if (!applied) return Problem{source_of(option) + " " + applied.error().text};
  }
  return Done{};
}

Outcome<Choice> CommandLine::choice() const {
  Choice choice;
  for (std::size_t row = 0; row < given_.size(); ++row) {
    if (!given_[row].command->parsed()) continue;
    const VerbRow& verb = verb_rows()[row];
    choice.verb = &verb;
    if (const auto read = read_words(given_[row], verb, choice); !read) return read.error();
    if (const auto read = read_options(given_[row], verb, choice); !read) return read.error();
  }
  return choice;
}

}  // namespace millrace::cli
