#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

namespace millrace::server {

/// The JSON of a job as FETCH shows it, made into what PUSH takes: without the time at which it
/// became ready, and with `at` in place of its own; nullopt for `at`: with none. All other members
/// keep their bytes. nullopt: the text is no object.
[[nodiscard]] std::optional<std::string> pushed_text(std::string_view shown,
                                                     std::optional<Time> at);

}  // namespace millrace::server
