#include "core/broker/features/type_meters.hpp"

namespace millrace {

TypeMeter& TypeMeters::meter_of(const Job& job) {
  if (job.is_spilled()) return others_;
  const std::string_view part = format_.type_part(job);
  if (part.empty()) return others_;
  // Often the type is that of the run before, and to read it costs more than this.
  if (last_ != nullptr && part.starts_with(last_part_)) return *last_;
  const WorkUnitFormat::Type type = format_.read_type(part);
  if (type.name.empty() || type.name.size() > kTypeBytesMax) return others_;
  auto found = meters_.find(type.name);
  if (found == meters_.end()) {
    if (meters_.size() == kTypesMax) return others_;
    found = meters_.emplace(type.name, std::make_unique<TypeMeter>()).first;
  }
  last_part_ = part.substr(0, type.bytes);
  last_ = found->second.get();
  return *last_;
}

void TypeMeters::note_run(const Job& job, RunEnd end, Duration took, Time now) {
  TypeMeter& meter = meter_of(job);
  meter.processed.add(now);
  if (end == RunEnd::kFailed) meter.failed.add(now);
  meter.run.add(took);
  meter.last_at = now;
}

void TypeMeters::each(
    const std::function<void(std::string_view type, const TypeMeter&)>& visit) const {
  for (const auto& [type, meter] : meters_) visit(type, *meter);
}

}  // namespace millrace
