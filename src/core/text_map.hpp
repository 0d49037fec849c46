#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <string>
#include <string_view>

namespace millrace {

/// Debian's Abseil has a string_view of its own; these look texts up by the standard one.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return absl::Hash<std::string_view>{}(text);
  }
};

/// A map from texts that it owns.
template <typename Value>
using TextMap = absl::flat_hash_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace millrace
