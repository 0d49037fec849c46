#include "server/process/rights.hpp"

#include <functional>

#include "server/process/user.hpp"

namespace millrace::server {
namespace {

using SocketDuty = std::function<Outcome<Done>(const BoundSocket& socket)>;

Outcome<Done> for_each(const Server::Sockets& sockets, const SocketDuty& duty) {
  for (const auto* socket : {&sockets.beanstalk, &sockets.faktory, &sockets.web}) {
    if (!*socket) continue;
    if (auto done = duty(**socket); !done) return done;
  }
  return Done{};
}

Result<Done, StartFailure> become_user(const std::string& name, const Server::Sockets& sockets) {
  const Outcome<User> user = find_user(name);
  if (!user) return StartFailure{StartFailure::Step::kFindUser, user.error().text};
  const auto give = [&](const auto& each) {
    return each.give_file_to(user->user_id, user->group_id);
  };
  const Outcome<Done> given = is_root() ? for_each(sockets, give) : Done{};
  if (!given) return StartFailure{StartFailure::Step::kListen, given.error().text};
  if (const auto become_it = become(*user); !become_it) {
    return StartFailure{StartFailure::Step::kBecomeUser, become_it.error().text};
  }
  return Done{};
}

}  // namespace

Result<Done, StartFailure> give_up_rights(const Config& config, const Server::Sockets& sockets) {
  if (!config.user.empty()) {
    if (auto became = become_user(config.user, sockets); !became) return became;
  }
  if (!config.socket_mode) return Done{};
  const auto give_mode = [&](const auto& each) { return each.set_file_mode(*config.socket_mode); };
  const Outcome<Done> set = for_each(sockets, give_mode);
  if (!set) return StartFailure{StartFailure::Step::kListen, set.error().text};
  return Done{};
}

}  // namespace millrace::server
