#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/types.hpp"
#include "tools/export/receiver.hpp"
#include "tools/peers/job_peer.hpp"
#include "tools/peers/peer_addresses.hpp"

namespace millrace::tools {

/// A server of the Faktory protocol. A scheduled or retrying job is scheduled there, a dead one is
/// killed, and every other one is enqueued. Failures stay in the job. A job that was put is pushed
/// as workers of ours see it.
class ToFaktory final : public Receiver {
 public:
  /// `format` outlives this.
  [[nodiscard]] static Outcome<ToFaktory> connect(const FaktoryAddress& address,
                                                  const WorkUnitFormat& format);

  [[nodiscard]] const std::string& name() const override { return peer_.name(); }
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] bool is_process(std::string_view told) const override;
  [[nodiscard]] bool is_process_unique() const override { return false; }
  [[nodiscard]] std::uint64_t cut_ttrs() const override { return cut_ttrs_; }
  [[nodiscard]] Outcome<std::vector<std::string>> give(const std::vector<LeavingJob>& jobs,
                                                       Time now, WallClock wall,
                                                       std::uint64_t salt) override;
  [[nodiscard]] Outcome<Done> end_dead(std::uint64_t salt) override;
  [[nodiscard]] Outcome<bool> pause(std::string_view queue) override;

 private:
  ToFaktory(JobPeer peer, std::string process, const WorkUnitFormat& format)
      : peer_(std::move(peer)), process_(std::move(process)), format_(format) {}
  [[nodiscard]] std::optional<std::string> push_of(const LeavingJob& leaving, WallClock wall,
                                                   std::uint64_t salt);

  JobPeer peer_;
  std::string process_;
  std::uint64_t cut_ttrs_ = 0;
  const WorkUnitFormat& format_;
};

/// What is other in the job that is pushed.
struct PushChanges {
  std::optional<Time> at;            ///< nullopt: it has none, whatever it had before
  std::int64_t reserve_for_max = 0;  ///< a longer `reserve_for`, in seconds, is cut to it
};

struct PushedText {
  std::string json;
  bool is_cut = false;  ///< its `reserve_for` was too long
};

/// The JSON of a job as FETCH shows it, made into what PUSH takes: with the changes, and without
/// the time at which it became ready. All other members keep their bytes. nullopt: the text is no
/// object.
[[nodiscard]] std::optional<PushedText> pushed_text(std::string_view shown,
                                                    const PushChanges& changes);

}  // namespace millrace::tools
