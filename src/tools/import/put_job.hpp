#pragma once

#include <string_view>

#include "tools/import/binlog_reader.hpp"
#include "tools/import/import_target.hpp"

namespace millrace::tools {

/// The state as users of beanstalkd know it.
[[nodiscard]] std::string_view state_name(BinlogRecord::State state);

/// A job as beanstalkd had it, as Millrace stores one. One whose delay is over is ready. For a
/// buried one, `death` is when it died, which no other job has.
[[nodiscard]] StoredJob stored_put_job(const BinlogRecord& record, ImportTarget& target,
                                       Time death = {});

}  // namespace millrace::tools
