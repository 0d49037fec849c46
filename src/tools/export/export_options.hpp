#pragma once

#include "tools/export/export.hpp"

namespace CLI {
class App;
}

namespace millrace::tools {

/// Adds `millrace export`; `choice` outlives the app.
CLI::App* add_export_command(CLI::App& app, ExportChoice& choice);

}  // namespace millrace::tools
