#include "engines/open.hpp"

#include <string_view>

#include "engines/log_url.hpp"

namespace millrace::engines {

Outcome<std::unique_ptr<journal::LogService>> open_log_service(const std::string& url,
                                                               const Options& options) {
  const std::string_view scheme = std::string_view(url).substr(0, url.find("://"));
  if (scheme == "nats" || scheme == "tls") return open_nats_log(url, options);
  if (scheme == "postgresql" || scheme == "postgres") return open_postgres_log(url, options);
  return Problem{"a log has a URL that begins with nats://, tls:// or postgresql://, not " +
                 shown_url(url)};
}

}  // namespace millrace::engines
