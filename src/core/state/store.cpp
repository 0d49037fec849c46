#include "core/state/store.hpp"

#include <utility>
#include <variant>

namespace millrace {
void Store::apply(Record&& record) {
  std::visit([this](auto& kind) { apply(std::move(kind)); }, record);
}

std::size_t Store::write_last(std::string& batch) {
  std::size_t count = 0;
  each_kind(*this, [&]<typename Kind>(Kind& kind) {
    if constexpr (WrittenLast<Kind>) {
      if (kind.has_unwritten()) count += kind.write(batch);
    }
  });
  return count;
}

void Store::place(Lsn begin) {
  each_kind(*this, [begin](LiveKind auto& kind) { kind.place(begin); });
}

std::optional<Lsn> Store::oldest_needed() const {
  std::optional<Lsn> oldest;
  each_kind(*this, [&oldest](const auto& kind) {
    // nullopt: nothing of that kind is live, or all of it is in the batch at hand.
    const std::optional<Lsn> place = kind.oldest_place();
    if (place && (!oldest || *place < *oldest)) oldest = place;
  });
  return oldest;
}

bool Store::rewrite_oldest(Lsn before, std::string& batch) {
  const std::optional<Lsn> oldest = oldest_needed();
  if (!oldest || *oldest >= before) return false;
  bool is_done = false;
  each_kind(*this, [&](LiveKind auto& kind) {
    // Several kinds may have a record in the same batch. Each has its turn.
    if (is_done || kind.oldest_place() != oldest) return;
    const std::size_t before_bytes = batch.size();
    kind.rewrite_oldest(batch);
    // One thing a call, so that the caller can stop at its limit of bytes.
    is_done = batch.size() > before_bytes;
  });
  return is_done;
}

std::size_t Store::memory_bytes() const {
  // Lines follow from jobs and throttles: they are no kind.
  std::size_t bytes = throttles_.lines().counts().memory_bytes();
  each_kind(*this, [&bytes](const auto& kind) { bytes += kind.memory_bytes(); });
  return bytes;
}

std::uint64_t Store::live_bytes() const {
  std::uint64_t bytes = 0;
  each_kind(*this, [&bytes](const auto& kind) { bytes += kind.live_bytes(); });
  return bytes;
}

}  // namespace millrace
