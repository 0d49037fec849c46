#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "engines/open.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// The log in a stream of NATS JetStream. `engines/nats/nats_url.hpp` has the form of the URL.
/// Makes the stream where there is none; refuses one that may lose what it acknowledges.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_nats_log(const std::string& url,
                                                                          const Options& options);

}  // namespace millrace::engines
