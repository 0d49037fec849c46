#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/job.hpp"
#include "core/model/scan.hpp"
#include "http/kit/json.hpp"
#include "http/kit/message.hpp"

/// Reads the parameters and members of requests. Problems are lines for a person.
namespace millrace::http {

inline constexpr std::size_t kPageMax = 200;
inline constexpr std::size_t kPageDefault = 50;

/// How many jobs one request searches; if it looks for jids only, which is cheaper.
inline constexpr std::size_t kSearchSteps = 2500;
inline constexpr std::size_t kJidSearchSteps = 6'000;

/// How many bytes of bodies it reads at most.
inline constexpr std::size_t kSearchBytes = 4 << 20;

/// How many jobs one request may name.
inline constexpr std::size_t kNamedJobsMax = 1000;

/// The refusal of a `cursor` that cannot be read.
inline constexpr const char* kWrongCursor = "cursor is not one that a list gave";

[[nodiscard]] const char* name_of(JobState state);
[[nodiscard]] std::optional<JobState> parse_state(std::string_view name);

/// The parameter `limit`.
[[nodiscard]] Outcome<std::size_t> read_limit(const Request& request);

/// The time of the core at which the wall clock shows so many milliseconds since 1970. What would
/// not fit is a time in the far future.
[[nodiscard]] Time time_of_ms(std::uint64_t ms, WallClock clock);

/// `created-major-minor`.
[[nodiscard]] std::string show_place(const ScanPlace& place);
[[nodiscard]] std::optional<ScanPlace> parse_place(std::string_view text);

[[nodiscard]] std::optional<Mutation::Action> parse_action(std::string_view name);

/// The body as a JSON object whose members differ in name; an empty body counts as an empty one.
[[nodiscard]] Outcome<Json> read_members(std::string_view body);

inline constexpr std::string_view kDoubled = "the body has a member twice";

/// The names of the members of a JSON object, in lower case. The object may have numbers that no
/// type of ours can hold. If the text is no object, the names are anything.
[[nodiscard]] std::vector<std::string> member_names(std::string_view json);

/// The member if it is a string; else empty.
[[nodiscard]] std::string read_text(const Json& object, const char* name);

}  // namespace millrace::http
