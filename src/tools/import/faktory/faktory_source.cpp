#include "tools/import/faktory/faktory_source.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kRedisScheme = "redis://";
constexpr std::string_view kRedisTlsScheme = "rediss://";
constexpr std::string_view kSocketScheme = "unix:";
constexpr std::string_view kSnapshotName = "faktory.rdb";
constexpr std::size_t kShownSourceBytes = 4096;

bool take_user_and_password(std::string_view text, FaktorySource& source) {
  const std::size_t colon = text.find(':');
  // As redis-cli: without a colon there is only a password.
  const std::string_view user = colon == text.npos ? "" : text.substr(0, colon);
  const auto decoded_user = percent_decoded(user);
  const auto password = percent_decoded(colon == text.npos ? text : text.substr(colon + 1));
  if (!decoded_user || !password) return false;
  source.user = *decoded_user;
  source.password = *password;
  return true;
}

/// `HOST[:PORT]`; an address of IPv6 is in brackets.
bool take_host_and_port(std::string_view text, FaktorySource& source) {
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return false;
    source.host = text.substr(1, end - 1);
    if (end + 1 == text.size()) return !source.host.empty();
    colon = end + 1;
    if (text[colon] != ':') return false;
  } else {
    source.host = text.substr(0, colon);
    if (colon == text.npos) return !source.host.empty();
  }
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  source.port = port.value_or(0);
  return !source.host.empty() && source.port != 0;
}

/// `text`: what follows the scheme.
Outcome<FaktorySource> parse_redis_url(std::string_view scheme, std::string_view text) {
  const Problem odd{"--faktory: not " + std::string(scheme) +
                    "[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]"};
  FaktorySource source{.kind = FaktorySource::Kind::kHost, .is_tls = scheme == kRedisTlsScheme};
  // A password that was not encoded may have an `@` or a `/`.
  const std::size_t at = text.rfind('@');
  if (at != text.npos && !take_user_and_password(text.substr(0, at), source)) return odd;
  if (at != text.npos) text.remove_prefix(at + 1);
  const std::size_t slash = text.find('/');
  if (!take_host_and_port(text.substr(0, slash), source)) return odd;
  const std::string_view database = slash == text.npos ? "" : text.substr(slash + 1);
  const auto number = parse_number<std::uint32_t>(database.empty() ? "0" : database);
  if (!number) return odd;
  source.database = *number;
  return source;
}

std::string canonical_path(const std::string& path) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(path, error);
  return error ? path : canonical.string();
}

Outcome<FaktorySource> parse_path(const std::string& text) {
  FaktorySource source{.kind = FaktorySource::Kind::kFile, .path = text};
  std::error_code error;
  const auto status = std::filesystem::status(text, error);
  if (std::filesystem::is_directory(status)) {
    source.path += (text.ends_with('/') ? "" : "/") + std::string(kSnapshotName);
    if (!std::filesystem::exists(source.path, error)) {
      return Problem{text + " has no file " + std::string(kSnapshotName)};
    }
  } else if (!std::filesystem::exists(status)) {
    return Problem{text + ": no such file, and not redis://..., rediss://... or unix:PATH"};
  }
  return source;
}

}  // namespace

std::string FaktorySource::name() const {
  std::string text = canonical_path(path);
  if (kind == Kind::kSocket) text = std::string(kSocketScheme) + text;
  if (kind == Kind::kHost) {
    const bool is_ipv6 = host.find(':') != host.npos;
    text = std::string(is_tls ? kRedisTlsScheme : kRedisScheme) +
           (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + "/" +
           std::to_string(database);
  }
  return one_line(text, kShownSourceBytes);
}

Outcome<FaktorySource> parse_faktory_source(const std::string& text) {
  const std::string_view view = text;
  for (const std::string_view scheme : {kRedisScheme, kRedisTlsScheme}) {
    if (view.starts_with(scheme)) return parse_redis_url(scheme, view.substr(scheme.size()));
  }
  if (!view.starts_with(kSocketScheme)) return parse_path(text);
  std::string_view path = view.substr(kSocketScheme.size());
  // unix:///PATH is as common.
  if (path.starts_with("//")) path.remove_prefix(2);
  if (path.empty()) return Problem{"--faktory: unix: without the path of a socket"};
  return FaktorySource{.kind = FaktorySource::Kind::kSocket, .path = std::string(path)};
}

}  // namespace millrace::tools
