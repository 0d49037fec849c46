#pragma once

#include "core/state/view.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

/// The job's last runs that did not end well, oldest first.
[[nodiscard]] Json show_attempts(const Job& job, const View& view);

}  // namespace millrace::http
