#include "engines/log_url.hpp"

namespace millrace::engines {

/// A password may itself contain `@` or `/`, so everything up to the last `@` is left out.
std::string shown_url(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "(not a URL)";
  const std::size_t begin = scheme_end + 3;
  const std::size_t at = url.rfind('@');
  const std::size_t host = at == std::string::npos || at < begin ? begin : at + 1;
  const std::string rest = url.substr(host);
  return url.substr(0, begin) + rest.substr(0, rest.find_first_of("?#"));
}

}  // namespace millrace::engines
