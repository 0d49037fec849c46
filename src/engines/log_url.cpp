#include "engines/log_url.hpp"

#include <string_view>

namespace millrace::engines {
namespace {

constexpr std::string_view kTable = "millrace_log=";

/// `?millrace_log=jobs2` where that parameter is there.
std::string shown_table(std::string_view rest) {
  std::size_t at = rest.find(kTable);
  while (at != rest.npos && (at == 0 || (rest[at - 1] != '?' && rest[at - 1] != '&'))) {
    at = rest.find(kTable, at + 1);
  }
  if (at == rest.npos) return {};
  return std::string("?").append(rest.substr(at, rest.find_first_of("&#", at) - at));
}

}  // namespace

/// A password may itself contain `@` or `/`, so everything up to the last `@` is left out.
std::string shown_url(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "(not a URL)";
  const std::size_t begin = scheme_end + 3;
  const std::size_t at = url.rfind('@');
  const std::size_t host = at == std::string::npos || at < begin ? begin : at + 1;
  const std::string rest = url.substr(host);
  return url.substr(0, begin) + rest.substr(0, rest.find_first_of("?#")) + shown_table(rest);
}

}  // namespace millrace::engines
