#pragma once

#include <string_view>

namespace millrace::tools {

/// Whether two names of servers, as `beanstalk_name` and `faktory_name` give them, lead to one
/// port, as this machine resolves them now. Asks the resolver, and so may take seconds.
[[nodiscard]] bool lead_to_one_port(std::string_view a, std::string_view b);

}  // namespace millrace::tools
