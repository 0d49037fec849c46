#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "server/options/option_rows.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::server {

/// What tells the verbs where the server is, and its password. They mean nothing to `serve`.
inline constexpr const char* kUrlVariable = "MILLRACE_URL";
inline constexpr const char* kPasswordVariable = "MILLRACE_PASSWORD";
inline constexpr const char* kTokenVariable = "MILLRACE_TOKEN";

/// Makes a flag and a variable of a row; `text` gets its value.
CLI::Option* add_option(CLI::App& command, const OptionRow& row, std::string& text);

struct ServeChoice {
  Config config;
  /// Environment variables that begin like those of options but are none. They have no effect.
  std::vector<std::string> unknown_variables;
};

/// The command `serve`, or one that has its options. Each option of the table is a flag, the
/// variable `MILLRACE_<FLAG>`, and a key of the config file, in this order of precedence.
class ServeCommand {
 public:
  /// Adds it to the commands of `app`, which keeps the addresses of members.
  ServeCommand(CLI::App& app, const char* name, const char* help);
  ServeCommand(const ServeCommand&) = delete;
  ServeCommand& operator=(const ServeCommand&) = delete;

  [[nodiscard]] CLI::App& command() { return *command_; }

  // Once `app` has parsed the arguments:
  [[nodiscard]] bool is_given() const;
  [[nodiscard]] Outcome<ServeChoice> read(ConfigFile kind = ConfigFile::kAny) const;

 private:
  [[nodiscard]] Outcome<Done> apply_setting(const Setting& setting, Config& config) const;
  [[nodiscard]] Outcome<Done> apply_file(const ConfigDocument& file, Config& config) const;
  [[nodiscard]] Outcome<Done> apply_files(ConfigFile kind, Config& config) const;
  [[nodiscard]] Outcome<Done> apply_flags(Config& config) const;
  [[nodiscard]] std::vector<std::string> unknown_variables() const;

  CLI::App* command_;
  std::array<std::string, kOptionRows.size()> texts_;
  std::array<CLI::Option*, kOptionRows.size()> options_{};
  std::string config_file_;
  std::string config_folder_;
};

}  // namespace millrace::server
