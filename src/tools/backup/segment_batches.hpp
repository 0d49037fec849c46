#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"

namespace millrace::tools {

/// A batch of a segment, as the place of its frame.
struct SeenBatch {
  Lsn begin = 0;
  Lsn end = 0;
  std::optional<Time> told;  ///< what it says that the wall clock showed
};

/// Answers whether to go on.
using BatchSight = std::function<bool(const SeenBatch& batch)>;

/// Reads the batches of the segment that begins at `first`, of which `bytes` are whole frames. A
/// problem names `path`: something in it is damaged, or of another version.
[[nodiscard]] Outcome<Done> see_batches(std::string_view bytes, Lsn first, const std::string& path,
                                        const BatchSight& sight);

/// The first `size` bytes of a file. A problem: it has fewer, or loses its name meanwhile.
[[nodiscard]] Outcome<std::string> read_start(const std::string& path, std::uint64_t size);

}  // namespace millrace::tools
