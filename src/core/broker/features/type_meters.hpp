#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/model/job.hpp"
#include "core/model/meter.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace {

/// How the runs of jobs end, by type. In memory only: what is not known at the start of
/// the process is not known later.
class TypeMeters {
 public:
  /// Further types are measured together: they come from outside.
  static constexpr std::size_t kTypesMax = 1000;
  /// So are those with longer names.
  static constexpr std::size_t kTypeBytesMax = 256;

  /// `format` outlives this.
  explicit TypeMeters(const WorkUnitFormat& format) : format_(format) {}
  TypeMeters(const TypeMeters&) = delete;
  TypeMeters& operator=(const TypeMeters&) = delete;

  /// A run of the job ends, and took this long.
  void note_run(const Job& job, RunEnd end, Duration took, Time now);

  [[nodiscard]] std::size_t size() const { return meters_.size(); }
  /// In no order. None is ever removed, and a meter stays where it is.
  void each(const std::function<void(std::string_view type, const TypeMeter&)>& visit) const;
  /// Of all other runs: of jobs that were put and have no type, of those whose body was in the log
  /// only, and of what is beyond the limits above.
  [[nodiscard]] const TypeMeter& others() const { return others_; }

 private:
  [[nodiscard]] TypeMeter& meter_of(const Job& job);

  const WorkUnitFormat& format_;
  TextMap<std::unique_ptr<TypeMeter>> meters_;
  std::string last_part_;      ///< that named the last type: see `WorkUnitFormat::Type::bytes`
  TypeMeter* last_ = nullptr;  ///< its meter
  TypeMeter others_;
};

}  // namespace millrace
