#pragma once

#include "beanstalk/service.hpp"
#include "core/ports/journal.hpp"
#include "faktory/service.hpp"
#include "server/server.hpp"

namespace millrace::server {

/// What each protocol is told of the options, and of the process. The journal outlives the
/// settings.
[[nodiscard]] beanstalk::Settings beanstalk_settings(const Server::Options& options,
                                                     const Journal& journal);
[[nodiscard]] faktory::Settings faktory_settings(const Server::Options& options);

}  // namespace millrace::server
