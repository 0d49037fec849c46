#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {

/// The segment, or its header alone, as a program of another format version would have begun it.
inline std::string with_version(std::string segment, std::uint32_t version) {
  constexpr std::size_t kChecksumAt = 32;
  std::memcpy(segment.data() + kVersionAt, &version, sizeof version);
  const std::uint64_t checksum = XXH3_64bits(segment.data(), kChecksumAt);
  std::memcpy(segment.data() + kChecksumAt, &checksum, sizeof checksum);
  return segment;
}

/// A log that was left in order is as one that was not: then it may have a torn tail.
inline void forget_end(FileSystem& files, const std::string& directory) {
  auto extent = extent_in(files, directory);
  REQUIRE(extent);
  REQUIRE(*extent);
  (*extent)->end = 0;
  const auto bytes = encode_extent(**extent);
  const std::string_view part(bytes.data(), bytes.size());
  const auto file = files.open(directory + "/" + kExtentName, FileSystem::Access::kReadWrite);
  REQUIRE(file);
  REQUIRE((*file)->write(0, {&part, 1}));
}

}  // namespace millrace::journal
