#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

/// The grammars of command arguments. Each function takes its argument off the front of `rest`.
namespace millrace::beanstalk {

/// number = *SP 1*DIGIT, at most `max`. Leading zeros are allowed, signs and tabs are not.
[[nodiscard]] std::optional<std::uint64_t> take_number(std::string_view& rest, std::uint64_t max);

/// A number up to 2^32 - 1.
[[nodiscard]] std::optional<std::uint32_t> take_u32(
    std::string_view& rest, std::uint32_t max = std::numeric_limits<std::uint32_t>::max());

/// A number up to 2^64 - 1.
[[nodiscard]] std::optional<std::uint64_t> take_u64(std::string_view& rest);

/// bound = *WSP [ "+" / "-" ] 1*DIGIT, up to 2^64 - 1 and then cut to 32 bits, a minus counting
/// backwards from 2^32, as `kick` has always read it.
[[nodiscard]] std::optional<std::uint32_t> take_lenient_bound(std::string_view& rest);

/// *SP followed by all bytes that may stand in a tube's name, of which there may be none.
[[nodiscard]] std::string_view take_tube_characters(std::string_view& rest);

/// tube = 1*200( ALPHA / DIGIT / one of -+/;.$_() ), not starting with "-".
[[nodiscard]] bool is_tube_name(std::string_view name);

}  // namespace millrace::beanstalk
