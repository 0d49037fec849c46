#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/target.hpp"
#include "tools/export/receiver.hpp"
#include "tools/peers/job_peer.hpp"

namespace millrace::tools {

/// A server of the beanstalk protocol. A scheduled or retrying job is put with the delay that is
/// left, a dead one is buried, and every other one is ready. A pushed job is put as beanstalk
/// clients of ours see it, and so is the JSON that a PUSH takes.
class ToBeanstalkd final : public Receiver {
 public:
  /// `format` outlives this.
  [[nodiscard]] static Outcome<ToBeanstalkd> connect(const client::Target& target,
                                                     const WorkUnitFormat& format);

  [[nodiscard]] const std::string& name() const override { return peer_.name(); }
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] bool is_process(std::string_view told) const override { return told == process_; }
  [[nodiscard]] bool is_process_unique() const override { return true; }
  [[nodiscard]] std::uint64_t cut_ttrs() const override { return 0; }
  [[nodiscard]] Outcome<std::vector<std::string>> give(const std::vector<LeavingJob>& jobs,
                                                       Time now, WallClock wall,
                                                       std::uint64_t salt) override;
  [[nodiscard]] Outcome<Done> end_dead(std::uint64_t /*salt*/) override { return Done{}; }
  [[nodiscard]] Outcome<bool> pause(std::string_view queue) override;

 private:
  ToBeanstalkd(JobPeer peer, std::string process, const WorkUnitFormat& format)
      : peer_(std::move(peer)), process_(std::move(process)), format_(format) {}
  [[nodiscard]] Outcome<bool> use(std::string_view queue);
  void put(const LeavingJob& leaving, Time now, WallClock wall);
  [[nodiscard]] Outcome<std::string> read_put(const Job& job, bool is_to_be_buried);
  [[nodiscard]] Outcome<std::string> bury(std::string_view id, Pri pri);

  JobPeer peer_;
  std::string process_;
  const WorkUnitFormat& format_;
  std::string used_;
  std::string shown_;  ///< the body of a pushed job
};

}  // namespace millrace::tools
