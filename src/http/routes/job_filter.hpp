#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/broker/broker.hpp"
#include "core/ports/work_unit.hpp"
#include "http/kit/json.hpp"
#include "http/kit/message.hpp"
#include "http/routes/arg_search.hpp"

namespace millrace::http {

/// Which jobs a client looks for: those to which all members apply. Texts are never empty.
struct JobFilter {
  using Text = std::optional<std::string>;
  using Number = std::optional<std::uint64_t>;

  Text queue;           ///< exactly; with `*` at its end, which no name has: the beginning
  Text bid;             ///< the batch that it is a member of
  Text type;            ///< exactly; with `*` at its end: the beginning
  Text id;              ///< the number, or the beginning of the jid
  Text error;           ///< a part of error type or message, letters in any case
  Text group;           ///< as `failure_group` names it
  Text text;            ///< a part of the body as stored, or with the escapes of JSON decoded
  Text arg;             ///< values in the arguments of a pushed job: see `parse_args`
  Text wid;             ///< the worker that holds it
  Number client;        ///< the connection that holds it
  Number older_than_s;  ///< created at least so long ago
  /// A run of the job ended badly from then on, and before then; in milliseconds since 1970 by the
  /// wall clock.
  Number failed_since_ms;
  Number failed_until_ms;
  Text q;  ///< see `parse_query`. The next members occur in its terms alone
  Number younger_than_s;
  Number attempts_over;  ///< it was run more often than that
  Number attempts_under;
  Number failed_before_s;  ///< its last run that ended badly did so at least so long ago
  Number failed_within_s;

  bool operator==(const JobFilter&) const = default;
  [[nodiscard]] bool is_empty() const { return *this == JobFilter{}; }
};

/// What a filter must know of bodies.
struct JobReading {
  const WorkUnitFormat& format;
  ArgsPart args_part;
  const View& view;
};

inline constexpr std::size_t kFilterBytesMax = 1024;

/// Whether the name is the one that is wanted; with `*` at its end, `wanted` is its beginning.
[[nodiscard]] bool is_wanted(std::string_view name, std::string_view wanted);

/// The problem with the length or the encoding of a value, as a line for a person.
[[nodiscard]] std::optional<Problem> check_filter_text(std::string_view name,
                                                       std::string_view text);

/// The problem with the value of the member of that name, as a line for a person.
[[nodiscard]] std::optional<Problem> check_filter_member(std::string_view name,
                                                         std::string_view text);

/// Reads the members of the same names. The problem is a line for a person. An empty member is
/// refused: if it were ignored, every job would match.
[[nodiscard]] Outcome<JobFilter> read_filter(const Request& request);
[[nodiscard]] Outcome<JobFilter> read_filter(const Json& object);

/// `type "Send*", error "timeout"`, for people. Long texts are cut.
[[nodiscard]] std::string describe(const JobFilter& filter);

/// The queue that the filter names exactly; empty: none.
[[nodiscard]] std::string queue_of(const JobFilter& filter);

/// The beginning of the names of the queues that the filter asks for; empty: any, or one exactly.
[[nodiscard]] std::string queues_of(const JobFilter& filter);

/// The batch that the filter names; 0: none.
[[nodiscard]] JobBatchId batch_of(const JobFilter& filter);
/// The group of failures (`ScanOrder::group`); 0: none is asked for.
[[nodiscard]] std::uint64_t group_of(const JobFilter& filter);

/// What the filter reads of jobs.
struct FilterReads {
  bool bodies = false;     ///< all of them
  bool summaries = false;  ///< the jid or the type, which are in the bodies of beanstalk jobs
  bool only_jids = false;
};
[[nodiscard]] FilterReads reads_of(const JobFilter& filter);

/// The filter as a function; empty: all jobs match. What `reading` refers to must outlive it. A job
/// about which its steps did not suffice is to be asked about again before any other one.
[[nodiscard]] JobMatcher make_matcher(const JobFilter& filter, const JobReading& reading, Time now);

}  // namespace millrace::http
