#include "core/state/throttle/type_reader.hpp"

#include "core/model/features/throttle_limits.hpp"
#include "core/model/types.hpp"

namespace millrace {

const std::string* TypeReader::limited_type(const Job& job, IsLimited is_limited) {
  if (format_ == nullptr) return nullptr;
  if (job.is_spilled()) return left_.first == job.id ? &left_.second : nullptr;
  const std::string_view part = format_->type_part(job);
  if (part.empty()) return nullptr;
  if (known_.part.empty() || !part.starts_with(known_.part)) {
    const WorkUnitFormat::Type type = format_->read_type(part);
    if (type.name.empty()) return nullptr;
    known_.part = part.substr(0, type.bytes);
    const auto is_limited_type = [&](std::string_view jobtype) {
      known_.name.assign(kTypePrefix).append(jobtype);
      return known_.name.size() <= kQueueNameBytesMax && is_limited(known_.name);
    };
    known_.is_limited =
        is_limited_type(type.name) || (!type.wrapper.empty() && is_limited_type(type.wrapper));
  }
  return known_.is_limited ? &known_.name : nullptr;
}

}  // namespace millrace
