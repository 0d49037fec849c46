#pragma once

#include "base/result.hpp"
#include "tools/import/import.hpp"

namespace millrace::tools {

/// The jobs of Faktory's database at `choice.faktory`, what it has counted, and its paused queues.
/// It is not changed. A database that changes meanwhile is a problem.
[[nodiscard]] Outcome<JournalReport> import_faktory(const ImportChoice& choice);

}  // namespace millrace::tools
