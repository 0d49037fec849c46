#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"

namespace millrace::journal {

/// The names of reserved files begin with this; a number follows. They do nothing but take space.
inline constexpr std::string_view kReservedPrefix = "spare-";

/// A file with all the room that it needs.
struct RoomyFile {
  std::unique_ptr<File> file;
  std::uint64_t bytes = 0;  ///< its length
};

/// Disk space that is reserved for a full disk, as files. Each is as long as a segment, or shorter
/// where the disk had no more room.
///
/// A reserved file becomes a segment, and a segment a reserved file, by being renamed. So the
/// reserved space is never free in between, and no other program can take it.
///
/// A few of the files stay open: they become segments without a new descriptor. Where the process
/// has none for another file, that file is removed instead.
class Reserve {
 public:
  /// `files` must outlive it. With no segments there is no reserve.
  Reserve(FileSystem& files, std::string directory, std::uint64_t segment_bytes,
          std::uint64_t segments);

  /// The files that a former process has left, by their names in the directory, become part of this
  /// reserve; where there is none, they stay as they are. To be called before everything else.
  [[nodiscard]] Outcome<Done> resume(const std::vector<std::string>& left);

  /// Makes the reserve whole, if there is room for that and for `more` bytes besides. False when
  /// there is not; then the reserve is unchanged.
  [[nodiscard]] Outcome<bool> take(std::uint64_t more);

  /// Takes as much of what the reserve lacks as the disk has room for.
  [[nodiscard]] Outcome<Done> regain();

  /// Gives that many bytes, or a few more, back to the disk. False when nothing was left.
  [[nodiscard]] Outcome<bool> give_up(std::uint64_t bytes);

  /// Turns the longest reserved file into the file `path`: `header`, then zeros. Contents and name
  /// are on stable storage afterwards. nullopt when no reserved file has `bytes` bytes.
  [[nodiscard]] Outcome<std::optional<RoomyFile>> lend(const std::string& path,
                                                       std::string_view header,
                                                       std::uint64_t bytes);

  /// Takes the name `path` away for good and adds the file to the reserve. A file that has another
  /// name only loses this one, since somebody else needs its contents. False, and nothing is done,
  /// when the reserve lacks nothing.
  [[nodiscard]] Outcome<bool> adopt(const std::string& path);

  /// How much room is free, and how much the reserve and `more` bytes need, for people. Empty when
  /// that is enough.
  [[nodiscard]] std::string lack_of_room(std::uint64_t more) const;

  /// True when there was room for the whole reserve and nothing of it has been used since.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

  /// The lengths of the reserved files, in the order in which they are lent.
  [[nodiscard]] std::vector<std::uint64_t> lengths() const;

  /// The length of all reserved files together.
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  struct ReservedFile {
    std::string path;
    std::unique_ptr<File> file;    ///< null: it is not open
    std::uint64_t bytes = 0;       ///< its length
    std::uint64_t used_bytes = 0;  ///< so many may hold something else than zeros
  };

  [[nodiscard]] static bool is_shorter(const ReservedFile& one, const ReservedFile& other);
  [[nodiscard]] Outcome<Done> open_file(const std::string& path);
  [[nodiscard]] Outcome<Done> open_again(ReservedFile& reserved);
  void close_surplus();
  [[nodiscard]] Outcome<Done> grow(std::uint64_t bytes);
  [[nodiscard]] Outcome<bool> grow_one(std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> cut(ReservedFile& reserved, std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> drop_surplus();
  [[nodiscard]] Outcome<Done> shed(std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> add(ReservedFile reserved);
  [[nodiscard]] std::uint64_t lacking() const { return bytes_ - std::min(bytes_, held_); }
  [[nodiscard]] std::string unused_path() const;

  FileSystem& files_;
  std::string directory_;
  std::uint64_t segment_bytes_;
  std::uint64_t bytes_;  ///< the length of the whole reserve
  std::uint64_t step_;   ///< no less is given up at a time, and less is not worth taking back

  std::vector<ReservedFile> reserved_;
  std::uint64_t held_ = 0;  ///< the sum of their lengths
  bool is_whole_;
};

}  // namespace millrace::journal
