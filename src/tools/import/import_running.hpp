#pragma once

#include "base/result.hpp"
#include "tools/import/import.hpp"

namespace millrace::tools {

/// The jobs of the running server `choice.from`, tube by tube: some are stored here, and when they
/// are on the disk, they are deleted there. A drain that was cut short goes on: a job that is here
/// already is only deleted there, unless that server was restarted meanwhile. Jobs that workers
/// hold stay there; then the report has a damage.
[[nodiscard]] Outcome<JournalReport> import_running(const ImportChoice& choice);

}  // namespace millrace::tools
