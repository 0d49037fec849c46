#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "core/ports/push_in_parts.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/session/shared.hpp"

namespace millrace::faktory {

/// The server side of the Faktory protocol (FWP): makes the sessions, and keeps what they share.
/// `broker` and `format` must outlive the service, and the service must outlive its sessions.
class Service {
 public:
  Service(Broker& broker, const WorkUnitFormat& format, Settings settings, Time started_at);

  /// A session for a connection that has just been made. `peer` names where the client comes from:
  /// clients that try passwords are slowed down by it.
  [[nodiscard]] std::unique_ptr<Session> open(std::string peer = {});

  /// The clock jumps by this, before anybody has connected.
  void shift_start(Duration jump) { shared_.started_at += jump; }

  /// For clients that connect from now on.
  void set_password(std::string password) { shared_.settings.password = std::move(password); }

  /// The same, in the place of the password. Connections of users that have changed end.
  void set_users(access::SharedUsers users /* see there */);

  /// For handshakes from now on: clients that are through it stay.
  void set_connections_max(std::uint64_t max) { shared_.settings.connections_max = max; }

  /// What INFO says that the server is, from now on.
  void set_description(std::string text) { shared_.settings.description = std::move(text); }

  /// Takes a job as PUSH does, for a caller that has no session. `planned`: see `Pusher::push`.
  [[nodiscard]] Result<JobId, PushRefusal> push(std::string_view json, Time now,
                                                const access::Caller& caller,
                                                std::optional<Time> planned = std::nullopt);

  /// The same for a long job. Any thread may call it.
  [[nodiscard]] std::unique_ptr<PushInParts> push_in_parts(access::Caller caller);

  /// What INFO answers, with these queues. The returned function writes it and reads nothing of the
  /// service, so any thread may call it.
  [[nodiscard]] std::function<std::string()> info(Time now, QueueSizes sizes) const;

  /// Clients that are connected and through the handshake.
  [[nodiscard]] std::uint64_t connection_count() const { return shared_.connection_count; }

  /// How much input of clients that are gone still takes memory.
  [[nodiscard]] std::size_t left_behind_bytes() const { return shared_.left_behind_bytes; }

  /// From now on every command is answered with an error and the end of its connection. There is no
  /// way back.
  void drain() { shared_.is_draining = true; }

 private:
  Shared shared_;
};

}  // namespace millrace::faktory
