#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/long_text.hpp"
#include "base/text.hpp"
#include "core/model/features/job_features.hpp"
#include "core/model/job.hpp"
#include "core/model/wall_clock.hpp"

namespace millrace {

/// The retries of a work unit that does not say how many it wants. A stored one leaves this number
/// out (`faktory/job/stored_form.hpp`), so old journals depend on it.
inline constexpr std::int64_t kRetryDefault = 25;

/// A job as a worker sees it. The core stores bodies and does not read them: it asks here for the
/// facts that it needs of one, and for the form in which a beanstalk client is shown a pushed job.
/// The Faktory protocol implements this. Pure: the answer depends on the arguments only. The job's
/// body is in memory.
class WorkUnitFormat {
 public:
  struct Identity {
    std::string jid;
    /// 0: dropped at the first failure; below 0: dead at once; n: n retries.
    std::int64_t retry = kRetryDefault;
  };

  virtual ~WorkUnitFormat() = default;

  /// Any job: the members of the work unit, in whichever way it came. Where the body is none, the
  /// jid is `beanstalk-<id>`.
  [[nodiscard]] virtual Identity identify(const Job& job) const = 0;

  // ---- jobs by name -----------------------------------------------------------------------------

  /// A hash of the jid that a pushed job with this body has, by which the job is found; the jid is
  /// at most `kJidBytesMax` long. 0: it is not to be found so. Jids that differ may have the same
  /// hash, and each process has other ones.
  [[nodiscard]] virtual std::uint32_t name_hash(std::string_view /*body*/) const { return 0; }
  /// The same of a job that was put; never 0. See `identify`.
  [[nodiscard]] virtual std::uint32_t name_hash_of_put(JobId /*id*/,
                                                       std::string_view /*body*/) const {
    return 1;
  }
  /// That of the jid itself; never 0.
  [[nodiscard]] virtual std::uint32_t hash_of_name(std::string_view /*jid*/) const { return 1; }

  /// Whether a client that pushes this body means the job: jid, jobtype, args and `at` are those of
  /// the job, as they were sent. Of a body longer than `kComparedBytesMax`, so are the members
  /// after args.
  [[nodiscard]] virtual bool is_same(const Job& /*job*/, std::string_view /*body*/) const {
    return false;
  }

  /// Names the push of this body into that queue and batch: two that `is_same` calls one have one
  /// key, and any others have keys that differ. nullopt: the body is broken, or longer than
  /// `kLongBodyBytes`.
  struct PushTarget {
    std::string_view queue;
    JobBatchId batch = 0;
  };
  [[nodiscard]] virtual std::optional<KeyedHash> push_key(std::string_view /*body*/,
                                                          const PushTarget& /*target*/,
                                                          const LockSecret& /*secret*/) const {
    return std::nullopt;
  }

  /// A text of the jid and the shown type of a job, for a look at them when the job is gone. Good
  /// until the next call. Empty: the body of a pushed job is broken, or one that was put has no
  /// type.
  [[nodiscard]] virtual std::string_view name_part(const Job& /*job*/) const { return {}; }
  struct Name {
    std::string jid;
    std::string jobtype;  ///< as it is shown
  };
  /// Of a `name_part`.
  [[nodiscard]] virtual Name read_name(std::string_view part) const {
    return {.jid = std::string(part), .jobtype = {}};
  }

  /// Arguments are not looked for in longer bodies.
  static constexpr std::size_t kComparedBytesMax = 16 * 1024;

  // ---- types ------------------------------------------------------------------------------------

  /// The part of a job's body that begins with what names its type: the one that people are shown,
  /// by which they filter, count and limit jobs. Empty: it has none. Asked for each run that ends.
  [[nodiscard]] virtual std::string_view type_part(const Job& /*job*/) const { return {}; }
  struct Type {
    std::string name;  ///< empty: it cannot be read
    /// The jobtype as it was sent, where that is a framework's and the same for all of its jobs;
    /// else empty. Limits of it count for jobs whose type has none.
    std::string wrapper = {};
    /// How much of the part names it: all parts that begin with these bytes have the same type.
    std::size_t bytes = 0;
  };
  /// Of a `type_part`.
  [[nodiscard]] virtual Type read_type(std::string_view /*part*/) const { return {}; }
  [[nodiscard]] Type type_of(const Job& job) const { return read_type(type_part(job)); }

  /// The facts that a list shows of a job.
  struct Summary {
    std::string jid;
    std::string type;     ///< as it is shown; `beanstalk`: it was put, and has none
    std::string args;     ///< their beginning as JSON; of a body that is no work unit, its bytes
    bool is_cut = false;  ///< they are longer than `args_bytes_max`
    bool is_work_unit = true;
  };
  static constexpr std::size_t kSummaryArgsBytes = 240;

  /// Costs about the same whatever the job's size.
  [[nodiscard]] virtual Summary summarize(const Job& job, std::size_t args_bytes_max) const {
    const std::string_view body = job.body_view();
    return {.jid = identify(job).jid,
            .type = type_of(job).name,
            .args = std::string(cut(body, args_bytes_max)),
            .is_cut = body.size() > args_bytes_max};
  }
  [[nodiscard]] Summary summarize(const Job& job) const {
    return summarize(job, kSummaryArgsBytes);
  }

  /// Appends the job as FETCH returns it: one line of compact JSON, with its failure, and times as
  /// the wall clock shows them. It has only members that the reference knows, and `priority`:
  /// clients with a fixed list of members could not read others.
  virtual void render(const Job& job, std::string_view queue, WallClock clock,
                      std::string& out) const = 0;

  /// The same without a copy of what is long in it, which is in the job's body and stays there for
  /// as long as `body` is there. nullopt: it is not in there as it is shown.
  [[nodiscard]] virtual std::optional<LongText> render_long(const Job& /*job*/,
                                                            std::string_view /*queue*/,
                                                            WallClock /*clock*/,
                                                            const TextOwner& /*body*/) const {
    return std::nullopt;
  }

  /// The same with all members that were pushed, for people, filters and other servers.
  virtual void render_whole(const Job& job, std::string_view queue, WallClock clock,
                            std::string& out) const {
    render(job, queue, clock, out);
  }
  [[nodiscard]] virtual std::optional<LongText> render_whole_long(const Job& job,
                                                                  std::string_view queue,
                                                                  WallClock clock,
                                                                  const TextOwner& body) const {
    return render_long(job, queue, clock, body);
  }

  /// A job with a longer body is worth it. A longer body that was put is no work unit.
  static constexpr std::size_t kLongBodyBytes = 128 * 1024;
};

}  // namespace millrace
