#pragma once

#include <string_view>

namespace millrace::faktory {

/// The `custom` of a job, and the texts of its members that the server knows. All others are the
/// client's own.
struct Custom {
  std::string_view raw;  ///< its JSON, which was checked; empty: it is absent, or null

  // Empty: absent, or null.
  std::string_view unique_for;
  std::string_view unique_until;
  std::string_view unique_conflict;
  std::string_view expires_at;
  std::string_view expires_in;
  std::string_view track;
  std::string_view bid;
  std::string_view throttle_key;
  std::string_view retry_delays;

  /// One of them is there.
  [[nodiscard]] bool has_known() const {
    return !(unique_for.empty() && unique_until.empty() && unique_conflict.empty() &&
             expires_at.empty() && expires_in.empty() && track.empty() && bid.empty() &&
             throttle_key.empty() && retry_delays.empty());
  }

  /// Takes a member, if it is one of these. Of several with one name the last one counts. `name` is
  /// what the JSON string means.
  void take(std::string_view name, std::string_view value);
};

/// Reads an object that was checked. It may be empty text.
[[nodiscard]] Custom read_custom(std::string_view raw);

}  // namespace millrace::faktory
