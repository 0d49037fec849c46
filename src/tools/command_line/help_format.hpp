#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace millrace::tools {

/// How `--help` looks: as CLI11 does it, with all texts broken at blanks to fit into a terminal of
/// 80 columns.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace millrace::tools
