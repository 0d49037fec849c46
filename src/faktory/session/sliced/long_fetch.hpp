#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/state/bodies.hpp"
#include "faktory/job/wrapped_body.hpp"
#include "faktory/session/sliced/sliced_command.hpp"

namespace millrace::faktory {

/// The reply of a FETCH that got a long body which is no work unit.
class LongFetch final : public SlicedCommand {
 public:
  LongFetch(const Job& job, std::string_view queue, WallClock clock, BodyPin body);

  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return 0; }
  [[nodiscard]] std::size_t unrendered_bytes() const override { return unrendered_bytes_; }

 private:
  const BodyPin body_;
  WrappedBody wrapped_;
  bool is_measured_ = false;
  std::size_t unrendered_bytes_;  ///< until it is measured: those of the body
};

}  // namespace millrace::faktory
