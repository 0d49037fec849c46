#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/strings/string_view.h>

#include <functional>
#include <string>
#include <string_view>

namespace millrace {

/// Debian's Abseil has a string_view of its own: the standard one it would hash by std::hash, which
/// is slower, and the same in each process, so that a client could choose names that collide.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return absl::Hash<absl::string_view>{}({text.data(), text.size()});
  }
};

/// A map from texts that it owns.
template <typename Value>
using TextMap = absl::flat_hash_map<std::string, Value, TextHash, std::equal_to<>>;
using TextSet = absl::flat_hash_set<std::string, TextHash, std::equal_to<>>;

}  // namespace millrace
