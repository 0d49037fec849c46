#pragma once

#include <absl/functional/function_ref.h>

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "tools/import/faktory/redis.hpp"

namespace millrace::tools {

/// Takes one entry of a list or a sorted set; `score` of a set's, as a time. The text is good until
/// it returns. A problem ends the walk.
using EntryTaker = absl::FunctionRef<Outcome<Done>(std::string_view entry, Time score)>;

/// Walks over a list of Faktory from its end, which is the oldest job. Nobody may change it
/// meanwhile. Of the entries some are in memory, of about a megabyte together, while Redis reads
/// the next ones.
[[nodiscard]] Outcome<Done> each_of_list(Redis& redis, const std::string& key, EntryTaker take);

/// The same over a sorted set, the smallest scores first.
[[nodiscard]] Outcome<Done> each_of_sorted_set(Redis& redis, const std::string& key,
                                               EntryTaker take);

}  // namespace millrace::tools
