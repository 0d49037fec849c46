#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

namespace millrace::tools {

/// What is other in the job that is pushed.
struct PushChanges {
  std::optional<Time> at;            ///< nullopt: it has none, whatever it had before
  std::int64_t reserve_for_max = 0;  ///< a longer `reserve_for`, in seconds, is cut to it
};

struct PushedText {
  std::string json;
  bool is_cut = false;  ///< its `reserve_for` was too long
};

/// The JSON of a job as FETCH shows it, made into what PUSH takes: with the changes, and without
/// the time at which it became ready. All other members keep their bytes. nullopt: the text is no
/// object.
[[nodiscard]] std::optional<PushedText> pushed_text(std::string_view shown,
                                                    const PushChanges& changes);

}  // namespace millrace::tools
