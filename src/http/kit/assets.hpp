#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http/kit/message.hpp"

/// The files of `web/`, which the build bundles and puts into the program, and the users' pages of
/// `docs/`, which it makes HTML of.
namespace millrace::http {

struct Asset {
  std::string_view
      path;  ///< below `/assets/`, as `app.js`; of a page of the manual, `help/api.html`
  std::string_view bytes;
  std::string_view version;  ///< a hash of `bytes`; the page asks for `app.js?v=` and this
};

/// In the order of their paths.
[[nodiscard]] std::span<const Asset> assets();

/// Where the manual is.
inline constexpr std::string_view kHelpFolder = "/help/";

/// The answer to a GET outside of the API: a file under `/assets/`, a page of the manual, or else
/// the application, which finds out itself what its address means. nullopt: the path is one of the
/// API or for machines (`/api/`,
/// `/metrics`).
[[nodiscard]] std::optional<Response> serve_asset(const Request& request);

}  // namespace millrace::http
