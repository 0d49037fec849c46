#pragma once

#include "base/result.hpp"

namespace CLI {
class App;
}

/// What is wrong with arguments of the command line, where CLI11 does not say it, or not well.
namespace millrace::tools {

/// Of arguments that no command knows. Names the first one: CLI11 would name all of them, the last
/// one first.
[[nodiscard]] Problem unknown_argument(const CLI::App& app);

/// No option is given twice.
[[nodiscard]] Outcome<Done> check_repetition(const CLI::App& app);

/// An option of a tool that works on files has a value: an empty one is a variable of a script that
/// is not set, and must not mean that the option was not given.
[[nodiscard]] Outcome<Done> check_values(const CLI::App& app);

}  // namespace millrace::tools
