#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/model/types.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::journal {

/// Where some entries are, in the cache and in the log: so far the log can be trimmed.
class EntryPlaces {
 public:
  /// Remembers one entry in so many bytes of the cache.
  explicit EntryPlaces(std::uint64_t bytes) : bytes_(bytes) {}

  /// Entries are noted in their order.
  void note(Lsn begin, Sequence first) {
    if (places_.empty() || begin >= places_.back().begin + bytes_)
      places_.push_back({begin, first});
  }

  /// The cache begins at `oldest` now. Answers the first message that it needs, or one before;
  /// nullopt: not known.
  std::optional<Sequence> forget_before(Lsn oldest) {
    while (places_.size() > 1 && places_[1].begin <= oldest) places_.pop_front();
    if (places_.empty() || places_.front().begin > oldest) return std::nullopt;
    return places_.front().first;
  }

 private:
  struct Place {
    Lsn begin = 0;
    Sequence first = 0;
  };

  const std::uint64_t bytes_;
  std::deque<Place> places_;
};

}  // namespace millrace::journal
