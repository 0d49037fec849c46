#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/job.hpp"
#include "core/model/queue.hpp"

namespace millrace {

/// How long the whole record of a job, which is as ready when a connection holds it, in that queue
/// is (`JobAdded` in docs/journal-format.md), to the byte: by too little, a log that is as short as
/// it can be would be cleaned for ever; by too much, what is obsolete would pass for needed.
[[nodiscard]] std::uint64_t record_bytes(const Job& job, std::string_view queue);

/// The same of what is remembered of a queue (`QueueChanged`).
[[nodiscard]] std::uint64_t record_bytes(const Queue& queue);

}  // namespace millrace
