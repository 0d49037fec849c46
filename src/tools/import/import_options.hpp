#pragma once

#include "tools/import/import.hpp"

namespace CLI {
class App;
}

namespace millrace::tools {

/// Adds the command `import` with its options. `choice` must outlive it.
CLI::App* add_import_command(CLI::App& app, ImportChoice& choice);

}  // namespace millrace::tools
