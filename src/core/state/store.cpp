#include "core/state/store.hpp"

#include <utility>
#include <variant>

namespace millrace {
void Store::apply(Record&& record) {
  std::visit([this](auto& kind) { apply(std::move(kind)); }, record);
}

std::size_t Store::memory_bytes() const {
  // Lines follow from jobs and throttles: they are no kind.
  std::size_t bytes = throttles_.lines().counts().memory_bytes();
  each_kind(*this, [&bytes](const auto& kind) { bytes += kind.memory_bytes(); });
  return bytes;
}

}  // namespace millrace
