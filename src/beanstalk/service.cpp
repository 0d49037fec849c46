#include "beanstalk/service.hpp"

#include <utility>

#include "base/check.hpp"
#include "beanstalk/session.hpp"
#include "beanstalk/shared.hpp"

namespace millrace::beanstalk {

Service::Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at)
    : shared_(new Shared{broker, format, std::move(settings), started_at}) {
  // The journal could not store a longer body.
  CHECK(shared_->settings.job_bytes_max <= kBodyBytesMax);
}

Service::~Service() = default;

std::unique_ptr<Session> Service::open(access::Caller caller, std::string peer) {
  return std::make_unique<BeanstalkSession>(*shared_, std::move(caller), std::move(peer));
}

void Service::set_users(access::SharedUsers users, bool ends_all) {
  shared_->settings.users = std::move(users);
  const auto connected = shared_->of_users;
  for (BeanstalkSession* const session : connected) session->look_at_users(ends_all);
}

void Service::set_job_bytes_max(std::size_t max) {
  CHECK(max <= kBodyBytesMax);
  shared_->settings.job_bytes_max = max;
}

void Service::shift_start(Duration jump) {
  shared_->started_at += jump;
}

void Service::drain() {
  // For good: beanstalkd has no way back from SIGUSR1 either.
  shared_->is_draining = true;
}

std::uint64_t Service::connection_count() const {
  return shared_->counters.connections;
}

bool Service::is_draining() const {
  return shared_->is_draining;
}

}  // namespace millrace::beanstalk
