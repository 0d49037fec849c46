#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The first bytes of each entry of a log that several servers share. The records of a batch may
/// follow. In the journal of one server there is none.
///
///     head = 07 kind:byte log:number sequence:number epoch:number at:signed writer:number
///            lease:number node:text notes:text
///
/// The tag is that of no record. Numbers are as in `core/model/codec`.
struct EntryHead {
  static constexpr std::uint8_t kTag = 7;

  enum class Kind : std::uint8_t {
    kBatch = 0,    ///< records follow
    kClaim = 1,    ///< its writer leads from here on, in `epoch`
    kBeat = 2,     ///< its writer still leads
    kRelease = 3,  ///< its writer leads no more: another server may claim at once
    kHold = 4,     ///< a claim without a lease: nobody else may claim before its release
  };

  Kind kind = Kind::kBatch;
  std::uint64_t log = 0;       ///< random; names this log, so that it is not taken for another
  std::uint64_t sequence = 0;  ///< of the entry's first message in the log service
  std::uint64_t epoch = 0;     ///< of its writer's leadership
  Time at{};                   ///< by the writer's clock, when it was appended
  std::uint64_t writer = 0;    ///< random; names the process that leads
  std::uint64_t lease_ms = 0;  ///< of the writer; not in a batch
  std::string node;            ///< of a claim: the writer's name
  std::string notes;           ///< of a claim: what other nodes are to know of the writer

  /// Whether its writer leads from here on.
  [[nodiscard]] bool is_claim() const { return kind == Kind::kClaim || kind == Kind::kHold; }

  bool operator==(const EntryHead&) const = default;
};

/// The longest text of a head.
inline constexpr std::size_t kHeadTextBytesMax = 4096;

[[nodiscard]] std::string encode(const EntryHead& head);

/// Takes the head off the front of an entry. nullopt: there is none, for example since the batch is
/// of a journal that is not shared. A problem: it is damaged, or of a newer version.
[[nodiscard]] Outcome<std::optional<EntryHead>> take_head(std::string_view& entry);

}  // namespace millrace
