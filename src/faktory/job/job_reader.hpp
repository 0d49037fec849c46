#pragma once

#include <absl/functional/function_ref.h>
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "faktory/features/custom.hpp"

namespace millrace::faktory {

/// The members of a job as its JSON has them. "Raw" is JSON text as it was sent: checked, and maybe
/// with white space in it. Empty raw text: the member is absent, or null, which means the same.
struct JobMembers {
  std::string_view jid;      ///< what the JSON string means
  std::string_view raw_jid;  ///< the JSON string itself, quotes included
  std::string_view jobtype;
  std::string_view raw_jobtype;
  std::string_view queue;
  std::string_view at;
  std::string_view raw_at;
  std::string_view created_at;
  std::string_view raw_created_at;
  std::string_view enqueued_at;  ///< of another server; a push has none that counts
  std::string_view raw_args;     ///< an array
  std::string_view raw_failure;  ///< an object
  Custom custom;
  std::optional<std::int64_t> retry;
  std::int64_t reserve_for = 0;
  std::int64_t backtrace = 0;
  std::optional<int> priority;  ///< 1 to 9; anything else is in `others`

  /// Members that the server does not know, and keeps as they were sent. Raw name, raw value.
  std::vector<std::pair<std::string_view, std::string_view>> others;
};

inline constexpr int kPriorityDefault = 5;

/// Reads jobs from JSON in one pass, and checks every byte of it: valid JSON can be made of the
/// members without another check. As in the reference, names are compared without regard to case,
/// and of several members with the same name the last one counts.
///
/// The members point into the reader, not into its argument, and are good until the next call.
class JobReader {
 public:
  /// Reads one object. null counts as an object without members.
  [[nodiscard]] Outcome<JobMembers> read(std::string_view json) {
    load(json);
    return read();
  }

  // The same in two steps.

  void load(std::string_view json) { text_.assign(json); }
  /// A text that has room for `kRoomBytes` more is not copied.
  void load_own(std::string&& json) { text_ = std::move(json); }
  static constexpr std::size_t kRoomBytes = simdjson::SIMDJSON_PADDING;

  /// After a `load`, as the next one.
  [[nodiscard]] Outcome<JobMembers> read();

  /// Reads an array of such objects, and shows each: what it has is good for longer than the call,
  /// as above. null counts as an empty array. If there is a problem, some were shown before.
  [[nodiscard]] Outcome<Done> read_array(absl::FunctionRef<void(const JobMembers& members)> visit);

  /// Frees the buffers if a long text has made them long.
  void shrink();

 private:
  simdjson::error_code open();

  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  std::string text_;  ///< the JSON, and behind it room with the zeros that the parser needs
};

}  // namespace millrace::faktory
