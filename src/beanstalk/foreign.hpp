#pragma once

#include <string_view>

namespace millrace::beanstalk {

/// Whether a line that is no command is of a web browser: the first line or the Host of an HTTP
/// request, or the beginning of TLS. A page of any site can make its visitor's browser send these
/// to a port of the visitor's network, and text of its own after them. No command begins so.
[[nodiscard]] bool is_foreign(std::string_view line);

}  // namespace millrace::beanstalk
