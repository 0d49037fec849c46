#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/slab.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// Finds jobs by the hash of their names, 10 to 16 bytes each. Names are in bodies, so the
/// caller looks there for the one that is meant.
class JobNames {
 public:
  /// `jobs` outlives this.
  explicit JobNames(const Slab<Job>& jobs)
      : jobs_(jobs), shards_(kShards, Shard(0, HashOf{&hashes_}, EqualOf{&hashes_})) {}
  JobNames(const JobNames&) = delete;
  JobNames& operator=(const JobNames&) = delete;

  [[nodiscard]] bool has(JobSlot slot) const { return hashes_.at(slot) != 0; }
  /// The job is not there. `hash` is not 0.
  void enter(JobSlot slot, std::uint32_t hash);
  /// The job is still in its slot. Does nothing for one that was not entered.
  void leave(JobSlot slot);

  /// The job of that hash that was made last.
  [[nodiscard]] std::optional<JobSlot> newest(std::uint32_t hash) const;
  /// The same and up to `limit` in all, the newest first.
  [[nodiscard]] std::vector<JobSlot> candidates(std::uint32_t hash, std::size_t limit) const;

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// A number for each slot in use; 0: none. In chunks as the slots are.
  class Hashes {
   public:
    [[nodiscard]] std::uint32_t at(JobSlot slot) const {
      const std::size_t chunk = slot / kChunk;
      if (chunk >= chunks_.size() || !chunks_[chunk].hashes) return 0;
      return (*chunks_[chunk].hashes)[slot % kChunk];
    }
    void set(JobSlot slot, std::uint32_t hash);
    void clear(JobSlot slot);

   private:
    static constexpr std::size_t kChunk = 512;
    struct Chunk {
      std::unique_ptr<std::array<std::uint32_t, kChunk>> hashes;  ///< null: all are 0
      std::size_t used = 0;
    };
    std::vector<Chunk> chunks_;
  };

  struct HashOf {
    using is_transparent = void;
    const Hashes* hashes;
    std::size_t operator()(std::uint64_t hash) const { return absl::Hash<std::uint64_t>{}(hash); }
    std::size_t operator()(JobSlot slot) const { return (*this)(std::uint64_t{hashes->at(slot)}); }
  };
  /// A slot is a number of 32 bits, so a hash that is looked for is one of 64.
  struct EqualOf {
    using is_transparent = void;
    const Hashes* hashes;
    [[nodiscard]] std::uint64_t hash_of(std::uint64_t hash) const { return hash; }
    [[nodiscard]] std::uint64_t hash_of(JobSlot slot) const { return hashes->at(slot); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return hash_of(a) == hash_of(b);
    }
  };
  using Shard = absl::flat_hash_set<JobSlot, HashOf, EqualOf>;

  /// A job that is not the newest of its hash.
  struct Older {
    std::uint32_t hash;
    JobSlot slot;
    JobId id;

    friend bool operator<(const Older& a, const Older& b) {
      return a.hash != b.hash ? a.hash < b.hash : a.id > b.id;
    }
  };

  // In shards, since a table that grows moves all its entries.
  static constexpr std::size_t kShards = 1024;
  static constexpr std::size_t kKeptCapacity = 64;
  [[nodiscard]] static std::size_t shard_of(std::uint32_t hash) { return hash % kShards; }

  const Slab<Job>& jobs_;
  Hashes hashes_;
  std::vector<Shard> shards_;  ///< one slot for each hash, of the newest job
  /// A client may give a million jobs one name: they do not make the table slow.
  absl::btree_set<Older> older_;
  std::size_t size_ = 0;
};

}  // namespace millrace
