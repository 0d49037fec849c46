#pragma once

#include <string_view>

#include "http/routes/handlers.hpp"

namespace millrace::http {

/// Notes the change that the request has made. `path` is that of its route, with `*` for a name.
void note_change(const Call& call, std::string_view path, const Response& response);

}  // namespace millrace::http
