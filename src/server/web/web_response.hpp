#pragma once

#include <chrono>
#include <string>

#include "http/kit/head.hpp"
#include "http/kit/message.hpp"

namespace millrace::server {

/// How long a connection may be idle.
inline constexpr auto kWebIdleMax = std::chrono::seconds(15);

/// The bytes of an answer, with its head: compressed for a client that takes gzip, and without the
/// body where the client has it already or asked by HEAD. Calls `write_body`. `head`: of the
/// request; an empty one, where it could not be read. `stays_open`: another request may follow.
[[nodiscard]] std::string render(const http::Head& head, http::Response response, bool stays_open);

}  // namespace millrace::server
