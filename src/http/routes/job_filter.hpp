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

namespace millrace::http {

/// Which jobs somebody looks for. What is there is never empty and never zero.
struct JobFilter {
  using Text = std::optional<std::string>;
  using Number = std::optional<std::uint64_t>;

  Text queue;           ///< exactly
  Text type;            ///< exactly, or with `*` at its end: begins so
  Text id;              ///< the number, or the beginning of the jid
  Text error;           ///< somewhere in error type or message, ASCII letters of any case
  Text group;           ///< as `failure_group` names it
  Text text;            ///< somewhere in the body as stored, exactly
  Text wid;             ///< the worker that holds it
  Number client;        ///< the connection that holds it
  Number older_than_s;  ///< created so long ago

  bool operator==(const JobFilter&) const = default;
  [[nodiscard]] bool is_empty() const { return *this == JobFilter{}; }
};

inline constexpr std::size_t kFilterBytesMax = 1024;

/// Reads the members of the same names. The problem is a line for a person. One that is there and
/// says nothing is refused: taken for none at all, it would make every job match.
[[nodiscard]] Outcome<JobFilter> read_filter(const Request& request);
[[nodiscard]] Outcome<JobFilter> read_filter(const Json& object);

/// `type "Send*", error "timeout"`, for who watches. Long texts are cut.
[[nodiscard]] std::string describe(const JobFilter& filter);

/// The filter as a walk asks it. `format` must outlive the result.
[[nodiscard]] std::function<bool(const Job&, const Queue&)> make_matcher(
    const JobFilter& filter, const WorkUnitFormat& format, Time now);

/// What failures have in common that differ in numbers only: 16 hexadecimal digits.
[[nodiscard]] std::string failure_group(const Failure& failure);

/// The message with each run of digits, and each word of eight or more hexadecimal digits, as `#`.
[[nodiscard]] std::string normalized_message(std::string_view message);

}  // namespace millrace::http
