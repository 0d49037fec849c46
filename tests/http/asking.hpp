#pragma once

#include <string>

#include "http/web_fixture.hpp"

/// Small helpers that several tests of the routes share.
namespace millrace::http {

/// The bounds of a change that somebody agrees to now.
[[nodiscard]] inline std::string as_of_now(const WebFixture& web) {
  return show_as_of(web.broker.view(), web.now);
}

/// Whether a page of `/metrics` has this line.
[[nodiscard]] inline bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// With `default` so many queues; all others have a job.
inline void fill_queues(WebFixture& web, int count) {
  for (int i = 1; i < count; ++i) web.put("x", "q" + std::to_string(i));
}
}  // namespace millrace::http
