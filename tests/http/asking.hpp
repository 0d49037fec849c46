#pragma once

#include <string>

#include "http/desk.hpp"

/// Small helpers that several tests of the routes share.
namespace millrace::http {

/// The bounds of a change that somebody agrees to now.
[[nodiscard]] inline std::string as_of_now(const Desk& desk) {
  return show_as_of(desk.broker.view(), desk.now);
}

/// Whether a page of `/metrics` has this line.
[[nodiscard]] inline bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// With `default` so many queues; all others have a job.
inline void fill_queues(Desk& desk, int count) {
  for (int i = 1; i < count; ++i) desk.put("x", "q" + std::to_string(i));
}
}  // namespace millrace::http
