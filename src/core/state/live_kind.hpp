#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/model/types.hpp"

namespace millrace {

/// What FLUSH does to the things of a kind.
enum class AtFlush { kRemoved, kStay };

/// A kind of live thing: something that the log must hold as long as it is there, such as the jobs,
/// or the totals. It applies the records of its things, and knows where the newest whole record of
/// each is. What of the log is needed, what compaction writes again, and how long the shortest log
/// would be follow from the kinds alone, see `Store`.
///
/// * `oldest_place`: a byte of the whole record that is first in the log. Nullopt: none is in the
///   log, since there is none or all are in the batch that is being collected.
/// * `rewrite_oldest`: appends that record to the batch. Called where there is an `oldest_place`.
///   Jobs append nothing where a body is missing.
/// * `place`: the batch begins there. Each whole record in it has its place now.
/// * `live_bytes`: how long all whole records together are, as they would be written now.
/// * `memory_bytes`: about what its things take in memory, as `--memory-limit` counts it. 0: they
///   are few, or have a limit of their own.
/// * `kAtFlush`: whether FLUSH removes its things. `FlushTask` has a step for each kind that says
///   so.
template <typename Kind>
concept LiveKind = requires(Kind& kind, const Kind& seen, Lsn begin, std::string& batch) {
  { seen.oldest_place() } -> std::same_as<std::optional<Lsn>>;
  { kind.rewrite_oldest(batch) } -> std::same_as<void>;
  { kind.place(begin) } -> std::same_as<void>;
  { seen.live_bytes() } -> std::same_as<std::uint64_t>;
  { seen.memory_bytes() } -> std::same_as<std::size_t>;
  { Kind::kAtFlush } -> std::convertible_to<AtFlush>;
};

/// A kind whose things may change several times in a batch, and are written once, when it ends.
///
/// * `has_unwritten`: `write` would append something.
/// * `write`: appends the records to the batch, and answers how many.
template <typename Kind>
concept WrittenLast = LiveKind<Kind> && requires(Kind& kind, const Kind& seen, std::string& batch) {
  { seen.has_unwritten() } -> std::same_as<bool>;
  { kind.write(batch) } -> std::same_as<std::size_t>;
};

/// True when records of that type are about things of this kind.
template <typename Kind, typename RecordType>
concept Applies = requires(Kind& kind, RecordType record) {
  kind.apply(std::move(record));
};

/// Lets the kind that is to apply the record do so.
template <typename RecordType, LiveKind... Kinds>
void apply_to_its_kind(RecordType&& record, Kinds&... kinds) {
  static_assert((0 + ... + static_cast<int>(Applies<Kinds, RecordType>)) == 1,
                "exactly one kind of live thing applies each kind of record");
  const auto apply_to = [&record]<typename Kind>(Kind& kind) {
    if constexpr (Applies<Kind, RecordType>) kind.apply(std::move(record));
  };
  (apply_to(kinds), ...);
}

}  // namespace millrace
