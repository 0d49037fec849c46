#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "core/model/types.hpp"

namespace millrace {

/// A change that a person or an administrator's program made.
struct Change {
  Time at{};
  std::string protocol;   ///< by which it came: "http" or "faktory"
  std::string from;       ///< the address of the client
  std::string user = {};  ///< who has logged in, by a name that nobody has checked; may be empty
  std::string client;     ///< what the client says it is, or the wid of a worker; may be empty
  std::string action;     ///< for example "queues/pause"
  std::string target;     ///< the name or the number of what was changed; empty: see `details`
  std::string details;    ///< which jobs, or before → after; may be empty
  std::string page = {};  ///< of the web UI on which it was asked for, as the client says; or empty
  std::optional<std::uint64_t> changed = {};  ///< how many jobs; nullopt: not known, or not yet
  std::uint64_t operation = 0;                ///< of `BulkChanges`, which makes it; 0: none
};

/// The last changes: so that a team finds out who emptied the queue.
class Activity {
 public:
  static constexpr std::size_t kChangesMax = 1000;
  static constexpr std::size_t kTextBytesMax = 300;  ///< longer texts are cut

  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// How many were noted when it was. The first one has 1.
  using Number = std::uint64_t;
  Number note(Change change);

  /// How many jobs it has changed in the end. A change that is not kept any more is left out.
  void finish(Number number, std::uint64_t changed);
  void finish_operation(std::uint64_t operation, std::uint64_t changed);

  /// Visits those before that number, the latest first, until `visit` answers false.
  void each_before(Number number, const std::function<bool(Number, const Change&)>& visit) const;
  /// The number for `each_before` to begin with the latest.
  [[nodiscard]] Number end() const { return noted_ + 1; }

 private:
  std::deque<Change> changes_;  ///< the oldest first
  Number noted_ = 0;
};

}  // namespace millrace
