#include "http/kit/guard.hpp"

#include <algorithm>
#include <array>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "http/kit/assets.hpp"
#include "http/kit/session_cookie.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

/// `content`: of the page, and `head` of its head.
std::string login_page(std::string_view prefix, std::string_view head, std::string_view content) {
  const std::string assets = std::string(prefix) + "/assets/";
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<title>Log in · Millrace</title>\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"" +
         assets + "icon.svg\" type=\"image/svg+xml\">\n<link rel=\"stylesheet\" href=\"" + assets +
         "style.css\">\n" + std::string(head) +
         "</head>\n<body>\n<main class=\"login\">\n<div class=\"empty\">\n"
         "<img src=\"" +
         assets + "icon.svg\" alt=\"\" width=\"44\" height=\"44\">\n" + std::string(content) +
         "</div>\n</main>\n<script src=\"" + assets + "login.js\"></script>\n</body>\n</html>\n";
}

Response show_html(int status, std::string body) {
  return {.status = status, .type = "text/html; charset=utf-8", .body = std::move(body)};
}

bool is_page(const Request& request) {
  return !is_change(request) && request.header("x-requested-with").empty() &&
         request.header("accept").find("text/html") != std::string_view::npos;
}

Response lead_to(const Request& request, std::string_view target) {
  // What follows a form is read.
  Response response = refuse(is_change(request) ? 303 : 307, "go to the address in Location");
  response.headers["Location"] = request.prefix + std::string(target);
  return response;
}

/// A browser sends a password by itself with what is in the same folder as the page that asked for
/// it (RFC 7617, 2.2). So it is asked for at the top, where everything is below, and then leads on.
std::string login_target(std::string_view to) {
  return std::string(kLoginPath) + "?to=" + percent_encoded(to);
}

/// A link on the page of another site brings no cookie (`SameSite=Strict`), and what it is
/// redirected to neither: only our own page can lead to the login so that a session is seen there.
Response lead_by_page(const Request& request) {
  const std::string login = request.prefix + login_target(request.target);
  return show_html(
      401,
      login_page(request.prefix, "<meta http-equiv=\"refresh\" content=\"0; url=" + login + "\">\n",
                 "<h1>A password is needed</h1>\n<p><a href=\"" + login + "\">Log in</a></p>\n"));
}

/// Only programs have tokens: they get no page, and no dialog.
Response ask_for_token(const GuardSettings& settings) {
  Response response =
      refuse(401, settings.users ? kWrongToken : "this server has no users file, so no tokens");
  response.headers["WWW-Authenticate"] = "Bearer realm=\"Millrace\", error=\"invalid_token\"";
  return response;
}

Response ask_for_password(const Request& request, const GuardSettings& settings, Login login) {
  if (bearer_of(request)) return ask_for_token(settings);
  const bool is_wrong = login == Login::kWrong;
  Response response = refuse(401, is_wrong ? "the password is wrong" : "a password is needed");
  if (request.header("accept").find("text/html") != std::string_view::npos) {
    response.type = "text/html; charset=utf-8";
    response.body = login_page(
        request.prefix, {},
        std::string("<h1>") + (is_wrong ? "The password is wrong" : "A password is needed") +
            "</h1>\n<p>" +
            (settings.users ? "Log in with your user name and password."
                            : "Millrace accepts any user name with its password.") +
            "</p>\n<p><a href=\"\">Log in</a></p>\n");
  }
  // For a script the browser would open its dialog over a page that is in use, and the script would
  // wait for it. Our page offers to log in.
  if (!request.header("x-requested-with").empty()) return response;
  response.headers["WWW-Authenticate"] = "Basic realm=\"Millrace\", charset=\"UTF-8\"";
  return response;
}

/// `user:password` (RFC 7617, 2)
std::optional<std::string> pair_of(const Request& request) {
  constexpr std::string_view kScheme = "basic ";
  const std::string_view given = request.header("authorization");
  if (!equals_ignoring_case(given.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  std::optional<std::string> pair = from_base64(trimmed(given.substr(kScheme.size())));
  return pair && pair->find(':') != std::string::npos ? std::move(pair) : std::nullopt;
}

/// Any user name will do: there is one password.
bool is_logged_in(const Request& request, std::string_view password) {
  const std::optional<std::string> pair = pair_of(request);
  return pair && is_same_secret(std::string_view(*pair).substr(pair->find(':') + 1), password);
}

/// A browser says where a request comes from. A client that says nothing is no browser.
bool is_from_another_site(const Request& request) {
  const std::string_view site = request.header("sec-fetch-site");
  // `none`: a person has typed the address or used a bookmark.
  if (!site.empty()) return site != "same-origin" && site != "none";
  const std::string_view origin = request.header("origin");
  if (origin.empty()) return false;
  const std::size_t host = origin.find("://");
  return host == std::string_view::npos || origin.substr(host + 3) != request.header("host");
}

/// `a.example:7420` without its port, `[::1]:7420` without that and the brackets.
std::string_view name_in(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Browsers send an IPv4 address as four numbers, whatever was typed.
bool is_address(std::string_view name) {
  const bool is_v6 = name.find(':') != name.npos;
  // DNS rebinding needs a name, so an address is ours.
  return is_v6 ||
         std::all_of(name.begin(), name.end(), [](char c) { return is_digit(c) || c == '.'; });
}

bool has_body(const Request& request) {
  const std::string_view length = request.header("content-length");
  return (!length.empty() && length != "0") || !request.header("transfer-encoding").empty();
}

bool is_of_type(const Request& request, std::string_view wanted) {
  const std::string_view type = request.header("content-type");
  return equals_ignoring_case(trimmed(type.substr(0, type.find(';'))), wanted);
}

/// A page of another site must not log a browser in as somebody whose jobs its author can see.
std::optional<Response> check_form(const Request& request) {
  if (is_from_another_site(request)) return refuse(403, "the request comes from another site");
  if (!request.header("content-encoding").empty()) {
    return refuse(415, "a body must not be compressed");
  }
  if (!is_of_type(request, "application/x-www-form-urlencoded")) {
    return refuse(415, "a login must be application/x-www-form-urlencoded");
  }
  return std::nullopt;
}

/// `action`: where forms may lead.
std::string policy_with(std::string_view action) {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
         "connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action " +
         std::string(action) + "; frame-ancestors 'none'";
}

std::optional<Response> check_change(const Request& request, const GuardSettings& settings) {
  if (request.method != "POST") {
    return refuse_method("GET, HEAD, POST", "use GET to read and POST to change");
  }
  if (is_from_another_site(request)) return refuse(403, "the request comes from another site");
  if (settings.is_read_only && !is_logout(request, settings)) {
    Response refused = refuse(403, "this web port is read-only");
    refused.headers["X-Read-Only"] = "1";
    return refused;
  }
  // A compressed body could grow without bound when it is unpacked.
  if (!request.header("content-encoding").empty()) {
    return refuse(415, "a body must not be compressed");
  }
  // A form of another site can send no JSON without asking first (CORS).
  if (has_body(request) && !is_of_type(request, "application/json")) {
    return refuse(415, "a body must be application/json");
  }
  return std::nullopt;
}

}  // namespace

bool is_form(const Request& request, const GuardSettings& settings) {
  return settings.users && request.method == "POST" && request.path == kLoginPath;
}

bool is_logout(const Request& request, const GuardSettings& settings) {
  return settings.users && request.method == "POST" && request.path == kLogoutPath;
}

Response show_form(const Request& request, int status, std::string_view problem) {
  const std::string to = request.param("to").empty() ? "/" : std::string(request.param("to"));
  const std::string alert =
      problem.empty() ? "" : "<p class=\"wrong\" role=\"alert\">" + std::string(problem) + "</p>\n";
  Response response = show_html(
      status,
      login_page(request.prefix, {},
                 "<h1>Log in</h1>\n" + alert + "<form method=\"post\" action=\"" + request.prefix +
                     login_target(to) +
                     "\">\n<label class=\"field\"><span>User name</span><input name=\"name\" "
                     "autocomplete=\"username\" autocapitalize=\"none\" spellcheck=\"false\" "
                     "required autofocus></label>\n<label class=\"field\"><span>Password</span>"
                     "<input name=\"password\" type=\"password\" "
                     "autocomplete=\"current-password\" required></label>\n"
                     "<button class=\"primary\">Log in</button>\n</form>\n"));
  response.headers["Content-Security-Policy"] = policy_with("'self'");
  return response;
}

/// One of ours, and not `//another.example`.
Response lead_on(const Request& request) {
  const std::string_view to = request.param("to");
  const bool is_visible =
      std::all_of(to.begin(), to.end(), [](char c) { return c > ' ' && c < 0x7F; });
  const bool is_ours = to.starts_with('/') && to.find_first_of("/\\", 1) != 1 && is_visible;
  return lead_to(request, is_ours ? to : "/");
}

bool is_open_to_all(const Request& request) {
  constexpr std::array<std::string_view, 6> kOpen = {"/health",          "/health/leader",
                                                     "/assets/login.js", "/assets/style.css",
                                                     "/assets/icon.svg", "/help"};
  return std::find(kOpen.begin(), kOpen.end(), request.path) != kOpen.end() ||
         request.path.starts_with(kHelpFolder);
}

Login login_of(const Request& request, const GuardSettings& settings) {
  if (settings.password.empty() || request.header("authorization").empty()) return Login::kNone;
  return is_logged_in(request, settings.password) ? Login::kRight : Login::kWrong;
}

std::optional<std::string_view> bearer_of(const Request& request) {
  const std::string_view given = request.header("authorization");
  const std::size_t end = std::min(given.find(' '), given.size());
  if (!equals_ignoring_case(given.substr(0, end), "bearer")) return std::nullopt;
  return trimmed(given.substr(end));
}

bool is_token_text(std::string_view text) {
  return text.starts_with(kTokenPrefix) && is_session_id(text.substr(kTokenPrefix.size()));
}

std::optional<Credentials> credentials_of(const Request& request) {
  const std::optional<std::string> pair = pair_of(request);
  if (!pair) return std::nullopt;
  const std::size_t colon = pair->find(':');
  return Credentials{.user = pair->substr(0, colon), .password = pair->substr(colon + 1)};
}

std::string user_of(const Request& request) {
  const std::optional<Credentials> said = credentials_of(request);
  return said ? said->user : "";
}

bool is_own_host(std::string_view host, const std::vector<std::string>& hosts) {
  std::string name = lower_case(name_in(host));
  if (name.ends_with('.')) name.pop_back();
  // A name without a dot cannot be registered, so no foreign site has it.
  if (is_address(name) || name.find('.') == name.npos || name.ends_with(".localhost")) return true;
  return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
}

bool is_from_page(const Request& request) {
  return request.header("x-requested-with") == "millrace";
}

bool is_change(const Request& request) {
  return request.method != "GET" && request.method != "HEAD";
}

std::optional<Response> check(const Request& request, const GuardSettings& settings, Login login) {
  if (request.path.size() > kPathBytesMax) return refuse(414, "the path is too long");
  // Load balancers ask for it without a password, and by any name.
  if (is_open_to_all(request) && !is_change(request)) return std::nullopt;
  if (settings.users || !settings.password.empty()) {
    const bool is_deep = request.path.find('/', 1) != std::string::npos;
    if (login == Login::kTooMany) {
      return refuse(503, bearer_of(request)
                             ? "tokens cannot be checked now: try again in a second"
                             : "too many passwords are being checked: try again in a second");
    }
    if (login == Login::kNoUser) {
      return refuse(403, "the proxy names a user that the users file does not have", "no_user");
    }
    if (is_form(request, settings) && login != Login::kWrong) return check_form(request);
    if (login == Login::kNone && is_page(request)) {
      if (settings.users) {
        return request.path == kLoginPath ? show_form(request, 200, {}) : lead_by_page(request);
      }
      if (is_deep) return lead_to(request, login_target(request.target));
    }
    // A login of users has a caller.
    const bool is_in =
        login == Login::kRight && (!settings.users || !request.caller.name().empty());
    if (!is_in) return ask_for_password(request, settings, login);
  } else if (settings.checks_host && !is_own_host(request.header("host"), settings.hosts)) {
    return refuse(403, "this Host name is not accepted: add it to " + settings.hosts_option);
  }
  if (is_change(request)) return check_change(request, settings);
  return request.path == kLoginPath ? std::optional(lead_on(request)) : std::nullopt;
}

void harden(Response& response) {
  response.headers.try_emplace("Content-Security-Policy", policy_with("'none'"));
  response.headers["X-Content-Type-Options"] = "nosniff";
  response.headers["X-Frame-Options"] = "DENY";
  response.headers["Referrer-Policy"] = "same-origin";
  response.headers["Cross-Origin-Opener-Policy"] = "same-origin";
  response.headers["Cross-Origin-Resource-Policy"] = "same-origin";
  // Jobs may hold secrets: nothing stays in a browser's cache unless a handler says so.
  response.headers.try_emplace("Cache-Control", "no-store");
}

bool is_same_secret(std::string_view given, std::string_view secret) {
  if (secret.empty()) return given.empty();
  // Over the whole of `given`, so that the time tells nothing of the secret.
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(secret[i % secret.size()]);
  }
  return difference == 0;
}

std::string clean_prefix(std::string_view header) {
  const auto is_plain = [](char c) {
    return is_letter(c) || is_digit(c) || c == '/' || c == '-' || c == '_' || c == '.';
  };
  while (header.ends_with('/')) header.remove_suffix(1);
  const bool is_usable = header.size() <= kPrefixBytesMax && header.starts_with('/') &&
                         // `//name` would be another server for the browser.
                         !header.starts_with("//") && header.find("..") == header.npos &&
                         std::all_of(header.begin(), header.end(), is_plain);
  return is_usable ? std::string(header) : std::string();
}

}  // namespace millrace::http
