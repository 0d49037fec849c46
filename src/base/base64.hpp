#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The bytes in base64 (RFC 4648), padded.
[[nodiscard]] std::string base64(std::string_view bytes);

/// The bytes that a base64 text stands for. Padding may be missing, since some HTTP clients leave
/// it out. nullopt: the text is no base64; white space in it is an error too.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace millrace
