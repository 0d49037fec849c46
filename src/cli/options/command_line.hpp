#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/choice.hpp"

namespace CLI {
class App;
}

namespace millrace::cli {

/// The verbs and their options, as CLI11 reads them. CLI11 keeps the addresses of the members, so
/// this is not copied, and outlives the app's parsing.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// True: one of the verbs was given.
  [[nodiscard]] bool is_given() const;
  /// What it is told. A problem: a value makes no sense.
  [[nodiscard]] Outcome<Choice> choice() const;

 private:
  struct Given {
    CLI::App* command = nullptr;
    std::vector<std::string> values;  ///< by option of the table
    std::array<std::string, 2> words;
    std::vector<std::string> list;  ///< of an argument that may be repeated
  };
  static void add(CLI::App& app, Given& given, const VerbRow& verb);
  static Outcome<Done> read_words(const Given& given, const VerbRow& verb, Choice& choice);
  static Outcome<Done> read_options(const Given& given, const VerbRow& verb, Choice& choice);

  std::vector<Given> given_;  ///< by row of the table
};

}  // namespace millrace::cli
