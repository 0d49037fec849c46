#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/job.hpp"
#include "core/model/wall_clock.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace::tools {

/// A job on its way to another server. Its body is in memory.
struct LeavingJob {
  const Job* job = nullptr;
  std::string_view queue;
};

/// Why a job is given to nobody.
inline constexpr const char* kBodyUnreadable = "its body cannot be read from the journal";

/// The server that jobs are given to.
class Receiver {
 public:
  virtual ~Receiver() = default;

  /// As the operator wrote it, without a password.
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Which process of that server this is: one line.
  [[nodiscard]] virtual const std::string& process() const = 0;
  /// Whether it is the process of which `process` has said this before.
  [[nodiscard]] virtual bool is_process(std::string_view told) const = 0;
  /// Whether no process of any other server says the same.
  [[nodiscard]] virtual bool is_process_unique() const = 0;

  /// How many jobs had a TTR of more than a day, which is the longest there. They were given with
  /// that.
  [[nodiscard]] virtual std::uint64_t cut_ttrs() const = 0;

  /// Gives it the jobs, and waits until it has said of each that it has it. Answers for each job
  /// why that server does not take it; an empty text: it has it. A problem: the connection is lost,
  /// or it takes no jobs; how many it has is not known then. `salt` is drawn for each export, and
  /// is the same for all of its jobs.
  [[nodiscard]] virtual Outcome<std::vector<std::string>> give(const std::vector<LeavingJob>& jobs,
                                                               Time now, WallClock wall,
                                                               std::uint64_t salt) = 0;

  /// All dead jobs, which are given first, were given. May be called again.
  [[nodiscard]] virtual Outcome<Done> end_dead(std::uint64_t salt) = 0;

  /// Pauses the queue for good. Answers whether it can do that.
  [[nodiscard]] virtual Outcome<bool> pause(std::string_view queue) = 0;
};

}  // namespace millrace::tools
