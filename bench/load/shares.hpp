#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Shares take turns: "put:2,put-cycle" is put, put-cycle, put. The shares are even everywhere, as
/// far as they can. Throws std::invalid_argument when a share is no number from 1 to 1,000.
std::vector<std::string> expand_shares(std::string_view text);

/// The same of bytes: "128:9,20000". They are at most 1 GiB.
std::vector<std::size_t> expand_sizes(std::string_view text);

}  // namespace bench
