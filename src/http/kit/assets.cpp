#include "http/kit/assets.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.hpp"

namespace millrace::http {
namespace {

struct Type {
  std::string_view suffix;
  std::string_view type;
};

constexpr std::array kTypes = {Type{".html", "text/html; charset=utf-8"},
                               Type{".css", "text/css; charset=utf-8"},
                               Type{".js", "text/javascript; charset=utf-8"},
                               Type{".svg", "image/svg+xml"},
                               Type{".json", "application/json"},
                               Type{".txt", "text/plain; charset=utf-8"}};

std::string_view type_of(std::string_view path) {
  for (const Type& type : kTypes) {
    if (path.ends_with(type.suffix)) return type.type;
  }
  return "application/octet-stream";
}

const Asset* find_asset(std::string_view path) {
  const auto all = assets();
  const auto found = std::lower_bound(
      all.begin(), all.end(), path,
      [](const Asset& asset, std::string_view wanted) { return asset.path < wanted; });
  return found != all.end() && found->path == path ? &*found : nullptr;
}

Response show(const Asset& asset) {
  Response response{.type = std::string(type_of(asset.path)), .body = std::string(asset.bytes)};
  // The browser asks each time and is answered with 304: so it sees a new version at once.
  response.headers["Cache-Control"] = "no-cache";
  return response;
}

/// The page names its files relative to its base. A proxy's prefix comes before it.
Response show_page(const Request& request) {
  const Asset* page = find_asset("index.html");
  CHECK(page != nullptr);
  Response response = show(*page);
  constexpr std::string_view kBase = R"(<base href="/">)";
  const std::size_t base = response.body.find(kBase);
  if (base != std::string::npos) {
    response.body.replace(base, kBase.size(), "<base href=\"" + request.prefix + "/\">");
  }
  return response;
}

/// A page of the manual, whose address has no suffix, or what it is shown with.
Response show_help(std::string name) {
  if (name.ends_with('/')) name += "index";
  if (name.find('.') == name.npos) name += ".html";
  const Asset* page = find_asset(name);
  if (page == nullptr) return refuse(404, "no such page: /help/ lists all");
  Response response = show(*page);
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'";
  return response;
}

}  // namespace

std::optional<Response> serve_asset(const Request& request) {
  constexpr std::string_view kFolder = "/assets/";
  const std::string_view path = request.path;
  // Routes answer these. An unknown one must be an error for a program, not a page.
  const bool is_for_machines =
      path == "/metrics" || path == "/stats" || path.starts_with("/health");
  if (is_for_machines || (path.starts_with("/api/") && path != "/api/v1/openapi.json")) {
    return std::nullopt;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return refuse_method("GET, HEAD", "nothing to change");
  }
  if (path == "/api/v1/openapi.json") return show(*find_asset("openapi.json"));
  if (path == "/favicon.ico") return show(*find_asset("icon.svg"));
  if (path == "/help") {
    Response moved = refuse(307, "go to the address in Location");
    moved.headers["Location"] = request.prefix + std::string(kHelpFolder);
    return moved;
  }
  if (path.starts_with(kHelpFolder)) return show_help(request.path.substr(1));
  // Every other path is a page of the application, which finds its own way: so links can be shared.
  if (!path.starts_with(kFolder)) return show_page(request);
  const Asset* asset = find_asset(path.substr(kFolder.size()));
  if (asset == nullptr) return refuse(404, "no such file");
  Response response = show(*asset);
  // A page of another release asks for another version. It gets ours, and asks again next time.
  if (request.param("v") == asset->version) {
    response.headers["Cache-Control"] = "max-age=31536000, immutable";
  }
  return response;
}

}  // namespace millrace::http
