#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

/// The grammars of command arguments. A `take_` function takes its argument off the front of
/// `rest`; nullopt: there is no such argument, and `rest` is then anywhere.
namespace millrace::beanstalk {

/// number = *SP 1*DIGIT, at most `max`. Leading zeros are allowed, signs and tabs are not.
[[nodiscard]] std::optional<std::uint64_t> take_number(std::string_view& rest, std::uint64_t max);

/// A number up to 2^32 - 1.
[[nodiscard]] std::optional<std::uint32_t> take_u32(
    std::string_view& rest, std::uint32_t max = std::numeric_limits<std::uint32_t>::max());

/// A number up to 2^64 - 1.
[[nodiscard]] std::optional<std::uint64_t> take_u64(std::string_view& rest);

/// bound = *WSP [ "+" / "-" ] 1*DIGIT, up to 2^64 - 1 and then cut to 32 bits. A minus counts
/// backwards from 2^32. beanstalkd reads the bound of `kick` so.
[[nodiscard]] std::optional<std::uint32_t> take_lenient_bound(std::string_view& rest);

/// *SP followed by all bytes that a tube name may have. There may be none.
[[nodiscard]] std::string_view take_tube_characters(std::string_view& rest);

/// tube = 1*200( ALPHA / DIGIT / one of -+/;.$_() ), not starting with "-".
[[nodiscard]] bool is_tube_name(std::string_view name);

}  // namespace millrace::beanstalk
