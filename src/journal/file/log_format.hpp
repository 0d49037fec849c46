#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

/// The bytes of the log, as docs/internals/journal-format.md has them. Pure: nothing here touches a
/// disk.
///
///     segment   = header frame*
///     header    = magic:8 version:u32 zero:u32 first:u64 salt:u64 checksum:u64
///     frame     = payload_checksum:u64 header_checksum:u32 payload_bytes:u32 durable:u64
///                 payload:payload_bytes zero:0..7            ; padded to a multiple of 8
///
/// Numbers are little-endian.
namespace millrace::journal {

/// New segments are written in this version. See "Versions" in docs/internals/journal-format.md.
inline constexpr std::uint32_t kFormatVersion = 1;
/// The oldest version that is read.
inline constexpr std::uint32_t kOldestFormatVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 40;
inline constexpr std::size_t kFrameHeaderBytes = 24;
inline constexpr std::size_t kFrameAlignment = 8;

/// The offset of the version in a segment.
inline constexpr std::size_t kVersionAt = 8;

/// The longest payload: a job of the greatest size, and what others record in the same turn.
inline constexpr std::size_t kBatchBytesMax = kBodyBytesMax + (std::size_t{256} << 20);

/// The name of the segment whose header is at `first`: 20 decimal digits and ".log".
std::string segment_name(Lsn first);

/// The reverse; nullopt for the name of anything else.
std::optional<Lsn> parse_segment_name(std::string_view name);

struct SegmentHeader {
  Lsn first = 0;           ///< the position of this header in the log
  std::uint64_t salt = 0;  ///< mixed into all checksums of the segment: no client can guess one

  bool operator==(const SegmentHeader&) const = default;
};

std::array<char, kSegmentHeaderBytes> encode_segment_header(const SegmentHeader& header);

/// nullopt when the bytes are not a whole header of this version.
std::optional<SegmentHeader> decode_segment_header(std::string_view bytes);

/// The version in a whole header of another program version, else nullopt: one whose checksum is
/// wrong is damaged. No version is numbered 0: that is a header which was only begun.
std::optional<std::uint32_t> foreign_version(std::string_view bytes);

/// The salt in what should be a segment's header, though the rest of it may be damaged; nullopt
/// when there are too few bytes.
std::optional<std::uint64_t> claimed_salt(std::string_view bytes);

/// What a log has at least: so that what is missing is missed where no gap shows it.
///
///     extent = magic:8 oldest:u64 newest:u64 end:u64 checksum:u64
///
/// Older ones have no `end`.
struct LogExtent {
  Lsn oldest = 0;  ///< this segment is there, or older ones are too
  Lsn newest = 0;  ///< this segment is there
  Lsn end = 0;     ///< where the log ended when a process ended in order; 0: it is not known

  bool operator==(const LogExtent&) const = default;
};

inline constexpr std::size_t kExtentBytes = 40;
inline constexpr std::size_t kShortExtentBytes = 32;  ///< of one without `end`

std::array<char, kExtentBytes> encode_extent(const LogExtent& extent);

/// nullopt when the bytes are not whole.
std::optional<LogExtent> decode_extent(std::string_view bytes);

/// A process began to write to a log.
///
///     start = at:u64 id:u64 checksum:u64
struct LogStart {
  Lsn at = 0;            ///< where the log ended then
  std::uint64_t id = 0;  ///< random, one per process

  bool operator==(const LogStart&) const = default;
};

inline constexpr std::size_t kStartBytes = 24;

std::array<char, kStartBytes> encode_start(const LogStart& start);

/// nullopt when the bytes are not whole.
std::optional<LogStart> decode_start(std::string_view bytes);

/// The place of a frame. It is mixed into the checksums, so bytes of another place never pass.
struct FramePlace {
  Lsn lsn = 0;
  std::uint64_t salt = 0;
};

struct Frame {
  std::string_view payload;
  Lsn durable = 0;        ///< the log was synced up to here before the frame was written
  std::size_t bytes = 0;  ///< header and padding included
};

/// The whole length of a frame with that payload.
constexpr std::size_t frame_bytes(std::size_t payload_bytes) {
  return (kFrameHeaderBytes + payload_bytes + kFrameAlignment - 1) / kFrameAlignment *
         kFrameAlignment;
}

std::array<char, kFrameHeaderBytes> encode_frame_header(std::string_view payload, Lsn durable,
                                                        FramePlace place);

/// The frame that `bytes` begin with, its payload pointing into them; nullopt when it is not whole.
/// Nothing that a client stored can make this slow: the payload is read only after a header whose
/// own checksum is right.
std::optional<Frame> decode_frame(std::string_view bytes, FramePlace place);

}  // namespace millrace::journal
