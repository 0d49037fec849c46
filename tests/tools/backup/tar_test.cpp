#include "tools/backup/tar.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {
namespace {

std::string tar_header(const TarEntry& entry) {
  const auto block = encode_tar_header(entry);
  return {block.data(), block.size()};
}

}  // namespace

TEST_CASE("tar: a header is read as it was written") {
  for (const TarEntry& entry :
       {TarEntry{.name = "manifest", .bytes = 0}, TarEntry{.name = "a", .bytes = 8'000'000'000},
        TarEntry{.name = "d", .bytes = 0, .is_file = false}}) {
    CHECK(decode_tar_header(tar_header(entry)) == entry);
  }
}

TEST_CASE("tar: names that other programs begin with a dot are the same") {
  CHECK(decode_tar_header(tar_header({.name = "./manifest"}))->name == "manifest");
}

TEST_CASE("tar: any other byte makes it no header") {
  const std::string whole = tar_header({.name = "manifest", .bytes = 77});
  for (const std::size_t at : {0u, 124u, 134u, 150u, 156u, 257u, 400u}) {
    CAPTURE(at);
    std::string other = whole;
    other[at] ^= 1;
    CHECK_FALSE(decode_tar_header(other));
  }
  CHECK_FALSE(decode_tar_header(std::string(kTarBlockBytes, '\0')));
  CHECK_FALSE(decode_tar_header(whole.substr(1)));
}

TEST_CASE("tar: bytes are followed by zeros up to a block") {
  CHECK(tar_padding(0) == 0);
  CHECK(tar_padding(1) == 511);
  CHECK(tar_padding(512) == 0);
}

}  // namespace millrace::tools
