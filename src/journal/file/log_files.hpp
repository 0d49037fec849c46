#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

/// The files of a log as they lie in their directory, whether whole or damaged.

namespace millrace::journal {

/// The files in a log's directory, by what their names say. Others are left alone.
struct LogNames {
  std::vector<Lsn> segments;          ///< where they begin, in order
  std::vector<std::string> reserved;  ///< names in the directory; see `Reserve`
  std::vector<std::string> removed;   ///< names in the directory; see `Removal`
  bool has_extent = false;            ///< see `ExtentFile`
  bool has_starts = false;            ///< see `LogStarts`
};

/// Lists the directory once. Somebody else may change it at any time, unless it is locked.
[[nodiscard]] Outcome<LogNames> names_in(FileSystem& files, const std::string& directory);

/// Where the directory's segments begin, in order.
[[nodiscard]] Outcome<std::vector<Lsn>> segments_in(FileSystem& files,
                                                    const std::string& directory);

/// Whether the name is `prefix` and a number.
[[nodiscard]] bool is_numbered(std::string_view name, std::string_view prefix);

/// The file that tells which segments there must be.
inline constexpr const char* kExtentName = "extent";

/// What that file says; nullopt when it is not there, or was torn when it was written.
[[nodiscard]] Outcome<std::optional<LogExtent>> extent_in(FileSystem& files,
                                                          const std::string& directory);

/// The same of a file that is there; one that is not is a problem.
[[nodiscard]] Outcome<std::optional<LogExtent>> read_extent(FileSystem& files,
                                                            const std::string& directory);

/// The refusal of a segment that another version of the program wrote.
[[nodiscard]] Problem wrong_version(const std::string& path, std::uint32_t version);

/// The refusal of a file that is not as it was written.
[[nodiscard]] Problem damage(const std::string& path, std::uint64_t offset, std::string_view what);

/// The refusal of a log that a file is missing of, at its beginning or its end.
[[nodiscard]] Problem missing(const std::string& directory, const std::string& name);

inline constexpr std::string_view kHeaderNotWhole = "the segment header is not whole";
inline constexpr std::string_view kNotWhole = "a frame that was already durable is damaged";

/// What is wrong with bytes that the disk does not give, at that offset of a file.
[[nodiscard]] std::string cannot_be_read(std::uint64_t offset);

/// What is wrong with a frame that is whole, though its payload cannot be read.
[[nodiscard]] std::string no_records(const Problem& problem);

/// What is wrong with a file that ends before the next segment begins.
[[nodiscard]] std::string breaks_off_before(Lsn next);
/// The last file is shorter than the log was when it was left in order.
[[nodiscard]] std::string lacks_its_end(std::uint64_t missing_bytes);

/// How many bytes are left when trailing zeros are not counted.
[[nodiscard]] std::size_t bytes_in_use(std::string_view bytes);

/// Overwrites these bytes with zeros. Where a log ends shows by the zeros after it.
[[nodiscard]] Outcome<Done> write_zeros(File& file, std::uint64_t begin, std::uint64_t bytes);

/// Whether a whole frame after the start of `bytes`, which are at `place`, was written when the
/// log had been synced beyond that start: what began there was durable once.
[[nodiscard]] bool is_proven_durable(std::string_view bytes, FramePlace place);

/// To be called after reading a file that a running server may change. A problem when the file has
/// lost its name: it may have become something else while it was read.
[[nodiscard]] Outcome<Done> check_named(FileSystem& files, const std::string& path);

/// The file's bytes. A problem when it loses its name meanwhile: it may become something else then.
/// One that is passing: the disk does not give them all.
[[nodiscard]] Outcome<std::string> contents_of(FileSystem& files, const std::string& path);

/// A file that is read in spite of read errors is read in pieces of this length.
inline constexpr std::uint64_t kGapBytes = 4096;

struct Readable {
  std::string bytes;
  std::vector<std::uint64_t> gaps;  ///< the offsets of the pieces that are only filled up
};

/// The same, as far as the disk gives them.
[[nodiscard]] Outcome<Readable> readable_of(FileSystem& files, const std::string& path);

/// Fills `into` from `offset` on, piece by piece. What the disk does not give becomes 0xff: no
/// frame begins with such bytes, and they are not mistaken for room that was never written. Ends
/// after `gaps_max` pieces of that kind, and answers where in the file they are.
std::vector<std::uint64_t> read_in_pieces(File& file, std::uint64_t offset, std::span<char> into,
                                          std::size_t gaps_max = SIZE_MAX);

}  // namespace millrace::journal
