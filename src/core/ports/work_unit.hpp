#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/job.hpp"

namespace millrace {

/// How a worker sees a job. The core stores bodies without looking into them; what it must know of
/// one, and what a beanstalk client is shown of a pushed job, it asks here. The Faktory door
/// implements this; the server wires it. Pure: the answer depends on the arguments only.
class WorkUnitFormat {
 public:
  struct Identity {
    std::string jid;
    std::int64_t retry = 25;  ///< 0: drop at the first failure; below 0: dead at once; n: n retries
  };

  virtual ~WorkUnitFormat() = default;

  /// Any job: of a pushed one what it said, of a put one what its body says if it is a work unit,
  /// else `beanstalk-<id>`.
  [[nodiscard]] virtual Identity identify(const Job& job) const = 0;

  /// What a list shows of a job.
  struct Summary {
    std::string jid;
    std::string jobtype;
    std::string args;  ///< their beginning as JSON, or that of a body that is no work unit: bytes
    bool is_cut = false;  ///< there is more of them than `kSummaryArgsBytes`
  };
  static constexpr std::size_t kSummaryArgsBytes = 240;

  /// Costs about the same whatever the job's size.
  [[nodiscard]] virtual Summary summarize(const Job& job) const {
    const std::string_view body = job.body_view();
    return {.jid = identify(job).jid,
            .jobtype = {},
            .args = std::string(body.substr(0, kSummaryArgsBytes)),
            .is_cut = body.size() > kSummaryArgsBytes};
  }

  /// Appends the job as FETCH returns it: one line of compact JSON, with its failure and times.
  virtual void render(const Job& job, std::string_view queue, std::string& out) const = 0;
};

}  // namespace millrace
