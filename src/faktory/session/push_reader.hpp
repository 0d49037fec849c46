#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ports/session.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

/// A job that was made of a PUSH before its session has the line.
struct PushAhead {
  std::uint64_t line_end;  ///< how many bytes the client had sent with it
  MadeJob job;
};

/// Reads JSON and makes jobs of it where the lines arrive, so that the broker's thread only puts
/// them. It leaves to the session what does not arrive in one piece, and all that it is in doubt
/// about: refusals, and jobs with times or features.
class PushReader final : public ReadAhead {
 public:
  using Made = std::vector<PushAhead>;

  /// `made` belongs to the session while it receives, and else to this.
  explicit PushReader(std::shared_ptr<Made> made) : made_(std::move(made)) {}

  void read(std::string_view bytes) override;

 private:
  void read_line(std::string_view line, std::uint64_t end);

  // Shared: the session or the socket may be gone first.
  const std::shared_ptr<Made> made_;
  std::uint64_t read_bytes_ = 0;
  bool is_in_line_ = false;
};

/// So many jobs at most are made ahead of what arrives at once: a job takes more memory than the
/// shortest line.
inline constexpr std::size_t kPushesAheadMax = 64;

}  // namespace millrace::faktory
