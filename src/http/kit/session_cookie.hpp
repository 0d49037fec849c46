#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/message.hpp"

/// The cookie by which a browser that has logged in is known.
namespace millrace::http {

/// What may be the id of a session: the cookies of the right name and form, at most
/// `kSessionIdsMax` of them. A page of a neighbouring host name can set more of that name.
[[nodiscard]] std::vector<std::string_view> session_ids(const Request& request);

/// The header that sets it, or lets the browser forget it: `id` is empty then.
[[nodiscard]] std::string set_session_cookie(const Request& request, std::string_view id);

/// Whether it has the form of an id.
[[nodiscard]] bool is_session_id(std::string_view text);

/// Of an id: 256 random bits in base64url, without padding.
inline constexpr std::size_t kSessionIdBytes = 43;
inline constexpr std::size_t kSessionIdsMax = 4;

}  // namespace millrace::http
