#include "beanstalk/door.hpp"

#include <utility>

#include "base/check.hpp"
#include "beanstalk/client_session.hpp"
#include "beanstalk/door_state.hpp"

namespace millrace::beanstalk {

Door::Door(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : state_(new DoorState{broker, format, std::move(settings), started_at}) {
  CHECK(state_->settings.job_bytes_max <= kBodyBytesMax);
}

Door::~Door() = default;

std::unique_ptr<Session> Door::open() {
  return std::make_unique<ClientSession>(*state_);
}

void Door::set_job_bytes_max(std::size_t max) {
  CHECK(max <= kBodyBytesMax);
  state_->settings.job_bytes_max = max;
}

void Door::drain() {
  state_->is_draining = true;
}

}  // namespace millrace::beanstalk
