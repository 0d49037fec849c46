#pragma once

#include <string>
#include <string_view>

#include "base/rope.hpp"
#include "core/model/types.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/session/sliced/sliced_command.hpp"

namespace millrace::faktory {

/// How the line of such a push begins.
inline constexpr std::string_view kLongPush = "PUSH ";

/// A PUSH of a long line: see `LongJob`.
class LongPush final : public SlicedCommand {
 public:
  /// `line`: with its verb.
  LongPush(Rope&& line, PushStart start);

  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return line_.size() + job_.kept_bytes(); }

 private:
  [[nodiscard]] Result<Done, RefusedJob> read_slice(Shared& shared);

  Rope line_;
  const PushStart start_;
  LongJob job_{Minifier::Root::kJob};
  std::size_t verb_bytes_ = kLongPush.size();  ///< in front of what was not read yet
  bool is_read_ = false;
  bool is_copied_ = false;
};

}  // namespace millrace::faktory
