#pragma once

#include <memory>

#include "beanstalk/settings.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::beanstalk {

struct DoorState;

/// What all connections of this door share: counters, settings, drain mode. It must outlive its
/// sessions; broker and format must outlive it.
class Door {
 public:
  Door(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// A session for a connection that has just been made. It joins the broker in `start` and leaves
  /// it in `close`.
  [[nodiscard]] std::unique_ptr<Session> open();

  /// For puts that begin from now on. At most kBodyBytesMax.
  void set_job_bytes_max(std::size_t max);

  /// From now on every put is answered with DRAINING. There is no way back.
  void drain();

 private:
  std::unique_ptr<DoorState> state_;
};

}  // namespace millrace::beanstalk
