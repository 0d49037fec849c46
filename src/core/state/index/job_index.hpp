#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// Finds a job's slot by its id. Ids are drawn one after the other, so sixteen of them share a line
/// of the processor's cache: a job takes about 6 bytes here, and lookups of consecutive jobs find
/// the line that the first one fetched. A job whose fifteen neighbours were removed takes about 90.
/// The table is cut into shards, because a table that grows moves all its entries: at ten million
/// jobs a shard has six hundred lines, or ten thousand where all neighbours were removed.
class JobIndex {
 public:
  JobIndex() : shards_(kShards) {}

  [[nodiscard]] std::optional<JobSlot> find(JobId id) const {
    const Shard& shard = shards_[shard_of(id)];
    const auto found = shard.find(line_of(id));
    if (found == shard.end()) return std::nullopt;
    const JobSlot slot = (*found->second)[id % kLine];
    return slot == kNoSlot ? std::nullopt : std::optional(slot);
  }

  /// The id is not there.
  void insert(JobId id, JobSlot slot) {
    Shard& shard = shards_[shard_of(id)];
    auto found = shard.find(line_of(id));
    if (found == shard.end()) found = shard.emplace(line_of(id), empty_line()).first;
    JobSlot& place = (*found->second)[id % kLine];
    CHECK(place == kNoSlot);
    place = slot;
  }

  void erase(JobId id) {
    Shard& shard = shards_[shard_of(id)];
    const auto found = shard.find(line_of(id));
    if (found == shard.end()) return;
    Line& line = *found->second;
    line[id % kLine] = kNoSlot;
    if (std::ranges::any_of(line, [](JobSlot slot) { return slot != kNoSlot; })) return;
    shard.erase(found);
    // An empty shard gives its memory back, but for the little that a few jobs would need again.
    if (shard.empty() && shard.capacity() > kRunLines) shard.rehash(0);
  }

 private:
  static constexpr std::size_t kLine = 16;
  static constexpr std::size_t kShards = 1024;
  static constexpr std::size_t kRun = 1024;
  static constexpr std::size_t kRunLines = kRun / kLine;
  [[nodiscard]] static std::size_t shard_of(JobId id) { return id / kRun % kShards; }
  [[nodiscard]] static std::uint64_t line_of(JobId id) { return id / kLine; }

  using Line = std::array<JobSlot, kLine>;
  [[nodiscard]] static std::unique_ptr<Line> empty_line() {
    auto line = std::make_unique<Line>();
    line->fill(kNoSlot);
    return line;
  }

  using Shard = absl::flat_hash_map<std::uint64_t, std::unique_ptr<Line>>;
  std::vector<Shard> shards_;
};

}  // namespace millrace
