#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/export/receiver.hpp"
#include "server/peers/job_peer.hpp"

namespace millrace::server {

/// A server of the Faktory protocol. A scheduled or retrying job is scheduled there, a dead one is
/// killed, and every other one is enqueued. Failures stay in the job. A job that was put is pushed
/// as workers of ours see it.
class ToFaktory final : public Receiver {
 public:
  /// `format` outlives this.
  ToFaktory(JobPeer peer, const WorkUnitFormat& format) : peer_(std::move(peer)), format_(format) {}

  [[nodiscard]] const std::string& name() const override { return peer_.name(); }
  [[nodiscard]] Outcome<std::vector<std::string>> give(const std::vector<LeavingJob>& jobs,
                                                       Time now, WallClock wall) override;
  [[nodiscard]] Outcome<bool> pause(std::string_view queue) override;

 private:
  [[nodiscard]] std::optional<std::string> push_of(const LeavingJob& leaving, Time now,
                                                   WallClock wall) const;
  [[nodiscard]] Outcome<Done> kill(const std::vector<std::string>& jids);

  JobPeer peer_;
  const WorkUnitFormat& format_;
};

}  // namespace millrace::server
