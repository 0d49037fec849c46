#pragma once

#include <cstddef>
#include <utility>

namespace millrace {

/// How many members the aggregate T has; a base class counts as one. With more than 24, it does not
/// compile.
///
/// A list of a struct's members that compares its length with this does not compile when a new
/// member is not in it.
namespace member_count_detail {

/// Initializes any member.
struct AnyValue {
  template <typename T>
  operator T() const;  // NOLINT: meant to convert
};

template <typename T, std::size_t... Places>
constexpr bool takes(std::index_sequence<Places...>) {
  return requires {
    T{(static_cast<void>(Places), AnyValue{})...};
  };
}

template <typename T, std::size_t Count>
constexpr std::size_t count_down_from() {
  if constexpr (Count == 0 || takes<T>(std::make_index_sequence<Count>{})) {
    return Count;
  } else {
    return count_down_from<T, Count - 1>();
  }
}

}  // namespace member_count_detail

template <typename T>
inline constexpr std::size_t kMemberCount = [] {
  constexpr std::size_t kMost = 24;
  static_assert(!member_count_detail::takes<T>(std::make_index_sequence<kMost + 1>{}),
                "more members than can be counted");
  return member_count_detail::count_down_from<T, kMost>();
}();

}  // namespace millrace
