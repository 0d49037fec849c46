#pragma once

#include "server/serve.hpp"
#include "server/server.hpp"

namespace millrace::server {

/// Does what `--user` and `--socket-mode` ask for, once the ports are open: the files of unix
/// sockets become the user's, then the process runs as that user, and then the files get their
/// mode. Nobody could connect by another mode before, since nobody listens yet.
[[nodiscard]] Result<Done, StartFailure> give_up_rights(const Config& config,
                                                        const Server::Sockets& sockets);

}  // namespace millrace::server
