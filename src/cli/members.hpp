#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/api.hpp"

/// Members of answers. A server of another version may lack some: they then read as nothing.
namespace millrace::cli {

/// The member; null if there is none.
[[nodiscard]] const Json& member(const Json& object, std::string_view name);

/// A text; empty if there is none. Numbers are written out.
[[nodiscard]] std::string text_at(const Json& object, std::string_view name);
[[nodiscard]] std::uint64_t count_at(const Json& object, std::string_view name);
/// The texts of a list, with blanks between.
[[nodiscard]] std::string joined_at(const Json& object, std::string_view name);
[[nodiscard]] bool is_at(const Json& object, std::string_view name);

/// A count for people: `39,065`.
[[nodiscard]] std::string figure_at(const Json& object, std::string_view name);
/// A rate for people: `0`, `0.4` or `1,520`.
[[nodiscard]] std::string rate_at(const Json& object, std::string_view name);

/// A number of seconds for people: `0.3s`, `12s`, `4m`; empty if there is none.
[[nodiscard]] std::string length_at(const Json& object, std::string_view name);

/// How long ago a time was, or how far away it is: `3m`; empty if there is none.
[[nodiscard]] std::string age_at(const Json& object, std::string_view name, std::int64_t now_ms);
[[nodiscard]] std::string wait_at(const Json& object, std::string_view name, std::int64_t now_ms);

}  // namespace millrace::cli
