#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "beanstalk/settings.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::beanstalk {

struct Shared;

/// The server side of the beanstalk protocol: makes the sessions, and keeps what they share.
/// `broker` and `format` must outlive the service, and the service must outlive its sessions.
class Service {
 public:
  Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// A session for a connection that has just been made. It joins the broker in `start` and leaves
  /// it in `close`. `peer` names where the client comes from, for the audit log.
  [[nodiscard]] std::unique_ptr<Session> open(access::Caller caller, std::string peer = {});

  /// Connections of users that are not in these as they were end; `ends_all`: those of all users.
  /// Null: there are none.
  void set_users(access::SharedUsers users /* see there */, bool ends_all = false);

  /// For puts that begin from now on. At most kBodyBytesMax.
  void set_job_bytes_max(std::size_t max);

  /// The clock jumps by this, before anybody has connected.
  void shift_start(Duration jump);

  /// Clients that are connected.
  [[nodiscard]] std::uint64_t connection_count() const;

  /// From now on every put is answered with DRAINING. There is no way back.
  void drain();
  [[nodiscard]] bool is_draining() const;

 private:
  std::unique_ptr<Shared> shared_;
};

}  // namespace millrace::beanstalk
