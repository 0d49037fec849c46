#include "core/broker/features/type_meters.hpp"

namespace millrace {

TypeMeter& TypeMeters::meter_of(const Job& job) {
  if (job.kind != JobKind::kWorkUnit || job.is_spilled()) return others_;
  const std::string_view type = format_.jobtype_in(job.body_view(), decoded_);
  // Often the type is that of the run before, and a search costs more than a comparison.
  if (last_ != nullptr && type == last_type_) return *last_;
  if (type.empty() || type.size() > kTypeBytesMax) return others_;
  auto found = meters_.find(type);
  if (found == meters_.end()) {
    if (meters_.size() == kTypesMax) return others_;
    found = meters_.emplace(type, std::make_unique<TypeMeter>()).first;
  }
  last_type_ = type;
  last_ = found->second.get();
  return *last_;
}

void TypeMeters::note_run(const Job& job, Duration took, Time now) {
  TypeMeter& meter = meter_of(job);
  meter.processed.add(now);
  meter.run.add(took);
  meter.last_at = now;
}

void TypeMeters::each(
    const std::function<void(std::string_view type, const TypeMeter&)>& visit) const {
  for (const auto& [type, meter] : meters_) visit(type, *meter);
}

}  // namespace millrace
