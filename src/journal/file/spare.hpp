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

/// What the names of the files begin with that do nothing but take space; a number follows.
inline constexpr std::string_view kSparePrefix = "spare-";

/// A file with all the room that it needs.
struct RoomyFile {
  std::unique_ptr<File> file;
  std::uint64_t bytes = 0;  ///< its length
};

/// Space of the disk that is kept back for when the disk is full, in pieces: files as long as a
/// segment, or shorter where there was no more. A piece becomes a segment, and a segment a piece,
/// by another name for the file: so what is kept back never is free meanwhile, and no other program
/// can take it.
class Spare {
 public:
  /// `files` must outlive it. No pieces: there is no spare.
  Spare(FileSystem& files, std::string directory, std::uint64_t piece_bytes, std::uint64_t pieces);

  /// Makes it whole, if there is room for that and for `more` bytes beside it. False when there is
  /// not; then it is as before.
  [[nodiscard]] Outcome<bool> take(std::uint64_t more);

  /// Takes as much of what it lacks as the disk has room for.
  [[nodiscard]] Outcome<Done> regain();

  /// Gives that much of it, or a little more, back to the disk. False when nothing was left.
  [[nodiscard]] Outcome<bool> give_up(std::uint64_t bytes);

  /// Makes the longest piece the file `path`, which begins with `header`, and with zeros behind it,
  /// on stable storage, as its name is. It is `bytes` long at least; nullopt where no piece is.
  [[nodiscard]] Outcome<std::optional<RoomyFile>> lend(const std::string& path,
                                                       std::string_view header,
                                                       std::uint64_t bytes);

  /// Takes that name from the file for good, and makes it a piece unless it has another name
  /// beside, under which somebody needs what is in it. False, and nothing is done, when nothing is
  /// lacking.
  [[nodiscard]] Outcome<bool> adopt(const std::string& path);

  /// Whether nothing of it was used, and there was room for it from the beginning.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

  /// Of the pieces, in the order in which they are lent.
  [[nodiscard]] std::vector<std::uint64_t> lengths() const;

  /// In bytes.
  [[nodiscard]] std::uint64_t held() const { return held_; }

 private:
  struct Piece {
    std::string path;
    std::unique_ptr<File> file;
    std::uint64_t bytes = 0;
    std::uint64_t used_bytes = 0;  ///< so many may hold something else than zeros
  };

  [[nodiscard]] static bool is_shorter(const Piece& one, const Piece& other);
  [[nodiscard]] Outcome<Done> open();
  [[nodiscard]] Outcome<Done> open_piece(const std::string& path);
  [[nodiscard]] Outcome<Done> grow(std::uint64_t bytes);
  [[nodiscard]] Outcome<bool> grow_one(std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> cut(Piece& piece, std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> drop_surplus();
  [[nodiscard]] Outcome<Done> shed(std::uint64_t bytes);
  [[nodiscard]] Outcome<Done> add(Piece piece);
  [[nodiscard]] std::uint64_t lacking() const { return bytes_ - std::min(bytes_, held_); }
  [[nodiscard]] std::string unused_path() const;

  FileSystem& files_;
  std::string directory_;
  std::uint64_t piece_bytes_;
  std::uint64_t bytes_;  ///< of all pieces when it is whole
  std::uint64_t step_;   ///< what is given up at least, and worth the trouble to take back

  bool is_open_ = false;
  std::vector<Piece> pieces_;
  std::uint64_t held_ = 0;  ///< the lengths of all pieces
  bool is_whole_;
};

}  // namespace millrace::journal
