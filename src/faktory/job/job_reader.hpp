#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace millrace::faktory {

/// The members of a job as they stand in its JSON. "Raw" is JSON text as it was sent, checked,
/// maybe with white space in it. Empty raw text: the member is absent (or null, which means the
/// same).
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
  std::string_view raw_args;     ///< an array
  std::string_view raw_custom;   ///< an object
  std::string_view raw_failure;  ///< an object
  std::optional<std::int64_t> retry;
  std::int64_t reserve_for = 0;
  std::int64_t backtrace = 0;
  std::optional<int> priority;  ///< 1 to 9; the member itself is in `others`

  /// What the server does not know: given back as sent. Raw name and raw value.
  std::vector<std::pair<std::string_view, std::string_view>> others;
};

/// Reads jobs out of JSON in one pass, and checks every byte of it: what it returns can be put
/// together again to valid JSON without another look. Names are compared without regard to case and
/// the last one of a name wins, as in the reference.
///
/// What it returns points into the reader (and is good until the next call), not into its argument.
class JobReader {
 public:
  /// One object; null counts as one without members.
  [[nodiscard]] Outcome<JobMembers> read(std::string_view json);

  /// The same for one that stands in an array, which counts for how deep it may be nested.
  [[nodiscard]] Outcome<JobMembers> read_element(std::string_view json);

  /// Frees the buffers if a large text has made them large.
  void shrink();

 private:
  Outcome<JobMembers> read_at(std::string_view json, std::size_t depth);
  simdjson::error_code open(std::string_view json);

  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  std::string text_;  ///< what is read, and behind it the zeros that the parser needs
};

}  // namespace millrace::faktory
