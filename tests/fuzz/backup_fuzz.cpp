// Manifests and streams of backups, of any bytes: each is read or refused, and what was read can be
// written and read again to the same.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/backup/tar.hpp"

namespace {

using namespace millrace::tools;

/// With the checksum that it needs.
void read_as_manifest(std::string text) {
  (void)parse_manifest(text, "fuzz");
  text += "sha256 " + sha256_of(text) + "\n";
  const auto manifest = parse_manifest(text, "fuzz");
  if (!manifest) return;
  CHECK(parse_manifest(encode(*manifest), "fuzz").value() == *manifest);
  CHECK(!times_text(*manifest).empty());
  BackupManifest pruned = *manifest;
  prune(pruned, manifest->points.back().told, manifest->points.back().at);
  CHECK(!pruned.points.empty());
  CHECK(parse_manifest(encode(pruned), "fuzz").value() == pruned);
}

void read_as_header(std::string_view text) {
  if (text.size() < kTarBlockBytes) return;
  const auto entry = decode_tar_header(text.substr(0, kTarBlockBytes));
  // The start is what other programs write.
  if (!entry || entry->name.starts_with("./")) return;
  const auto block = encode_tar_header(*entry);
  CHECK(decode_tar_header({block.data(), block.size()}) == entry);
}

void read_as_stream(std::string_view text) {
  const int descriptor = memfd_create("stream", MFD_CLOEXEC);
  CHECK(descriptor >= 0);
  CHECK(write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  CHECK(lseek(descriptor, 0, SEEK_SET) == 0);
  TarReader reader(descriptor, "fuzz");
  while (true) {
    const auto entry = reader.next();
    if (!entry || !*entry) break;
    const auto bytes = reader.read(**entry);
    if (!bytes) break;
    CHECK(bytes->size() == (*entry)->bytes);
  }
  close(descriptor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_as_manifest(std::string(text));
  read_as_header(text);
  read_as_stream(text);
  return 0;
}
