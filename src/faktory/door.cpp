#include "faktory/door.hpp"

#include <utility>

#include "faktory/session.hpp"

namespace millrace::faktory {

Door::Door(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : state_{.broker = broker,
             .format = format,
             .settings = std::move(settings),
             .started_at = started_at} {}

std::unique_ptr<Session> Door::open(std::string peer) {
  return std::make_unique<FwpSession>(state_, std::move(peer));
}

}  // namespace millrace::faktory
