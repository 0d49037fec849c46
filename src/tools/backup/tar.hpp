#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// A backup as one stream is a tar archive (ustar, POSIX.1-1988) of the files that its directory
/// would have: so other programs can look into it and unpack it.
namespace millrace::tools {

inline constexpr std::size_t kTarBlockBytes = 512;

struct TarEntry {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_file = true;  ///< else a directory

  bool operator==(const TarEntry&) const = default;
};

/// The block before the bytes of a file, which are followed by zeros up to a whole block.
[[nodiscard]] std::array<char, kTarBlockBytes> encode_tar_header(const TarEntry& entry);

/// Nullopt: it is no header of a file or a directory.
[[nodiscard]] std::optional<TarEntry> decode_tar_header(std::string_view block);

/// Zeros after that many bytes of a file.
[[nodiscard]] constexpr std::size_t tar_padding(std::uint64_t bytes) {
  return (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes;
}

/// Writes an archive to a descriptor.
class TarWriter {
 public:
  TarWriter(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  [[nodiscard]] Outcome<Done> add(const std::string& name, std::string_view bytes);
  /// The archive ends.
  [[nodiscard]] Outcome<Done> end();

 private:
  Outcome<Done> write(std::string_view bytes);

  int descriptor_;
  std::string name_;  ///< for problems
};

/// Reads an archive from a descriptor, one file after the other.
class TarReader {
 public:
  TarReader(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  /// The next file; nullopt: the archive ends in order. The bytes of the last one must have been
  /// read.
  [[nodiscard]] Outcome<std::optional<TarEntry>> next();

  /// All bytes of that file. Fewer than it should have are a problem.
  [[nodiscard]] Outcome<std::string> read(const TarEntry& entry);

 private:
  Outcome<std::size_t> fill(std::string& into);
  [[nodiscard]] Problem ends_early() const;

  int descriptor_;
  std::string name_;  ///< for problems
  std::uint64_t offset_ = 0;
};

}  // namespace millrace::tools
