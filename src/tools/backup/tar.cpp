#include "tools/backup/tar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "journal/file/log_format.hpp"

namespace millrace::tools {
namespace {

// Where the fields of a header are, and how long they are.
struct TarField {
  std::size_t at;
  std::size_t bytes;
};
constexpr TarField kTarName{0, 100};
constexpr TarField kTarMode{100, 8};
constexpr TarField kTarUser{108, 8};
constexpr TarField kTarGroup{116, 8};
constexpr TarField kTarSize{124, 12};
constexpr TarField kTarTime{136, 12};
constexpr TarField kTarSum{148, 8};
constexpr std::size_t kTarKindAt = 156;
constexpr TarField kTarMagic{257, 8};
constexpr std::string_view kUstar("ustar\00000", 8);
constexpr std::size_t kTarPartBytes = std::size_t{1} << 20;
constexpr std::uint64_t kTarFileBytesMax = journal::kBatchBytesMax + (std::uint64_t{1} << 20);

using Block = std::array<char, kTarBlockBytes>;

/// In octal, with a NUL at the end.
void put_number(Block& block, TarField field, std::uint64_t number) {
  for (std::size_t i = field.bytes - 1; i-- > 0; number /= 8) {
    block[field.at + i] = static_cast<char>('0' + number % 8);
  }
}

std::optional<std::uint64_t> number_in(std::string_view block, TarField field) {
  std::uint64_t number = 0;
  bool has_digit = false;
  for (const char c : block.substr(field.at, field.bytes)) {
    if (c == '\0' || (c == ' ' && has_digit)) break;
    if (c == ' ') continue;
    if (c < '0' || c > '7') return std::nullopt;
    number = number * 8 + static_cast<std::uint64_t>(c - '0');
    has_digit = true;
  }
  return has_digit ? std::optional(number) : std::nullopt;
}

/// The field of the sum counts as spaces.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kTarSum.at && i < kTarSum.at + kTarSum.bytes;
    sum += is_sum ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

}  // namespace

Block encode_tar_header(const TarEntry& entry) {
  Block block{};
  std::memcpy(block.data(), entry.name.data(), std::min(entry.name.size(), kTarName.bytes));
  put_number(block, kTarMode, 0600);
  put_number(block, kTarUser, 0);
  put_number(block, kTarGroup, 0);
  put_number(block, kTarSize, entry.bytes);
  put_number(block, kTarTime, 0);
  block[kTarKindAt] = entry.is_file ? '0' : '5';
  std::memcpy(block.data() + kTarMagic.at, kUstar.data(), kUstar.size());
  // Six digits, a NUL and a space.
  put_number(block, {kTarSum.at, 7}, sum_of({block.data(), block.size()}));
  block[kTarSum.at + 7] = ' ';
  return block;
}

std::optional<TarEntry> decode_tar_header(std::string_view block) {
  if (block.size() != kTarBlockBytes || block.substr(kTarMagic.at, 5) != kUstar.substr(0, 5)) {
    return std::nullopt;
  }
  const auto bytes = number_in(block, kTarSize);
  const char kind = block[kTarKindAt];
  const bool is_file = kind == '0' || kind == '\0';
  if (!bytes || number_in(block, kTarSum) != sum_of(block)) return std::nullopt;
  if (!is_file && (kind != '5' || *bytes > 0)) return std::nullopt;
  std::string_view name = block.substr(0, kTarName.bytes);
  name = name.substr(0, name.find('\0'));
  // As archives of other programs have it.
  if (name.starts_with("./")) name.remove_prefix(2);
  return TarEntry{.name = std::string(name), .bytes = *bytes, .is_file = is_file};
}

// ---- writing ------------------------------------------------------------------------------------

Outcome<Done> TarWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Problem{name_ + ": " + std::strerror(errno)};
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Done{};
}

Outcome<Done> TarWriter::add(const std::string& name, std::string_view bytes) {
  const Block header = encode_tar_header({.name = name, .bytes = bytes.size()});
  const Block zeros{};
  Outcome<Done> done = write({header.data(), header.size()});
  if (done) done = write(bytes);
  return done ? write({zeros.data(), tar_padding(bytes.size())}) : done;
}

Outcome<Done> TarWriter::end() {
  const std::array<char, 2 * kTarBlockBytes> zeros{};
  return write({zeros.data(), zeros.size()});
}

// ---- reading ------------------------------------------------------------------------------------

Outcome<std::size_t> TarReader::fill(std::string& into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t got = ::read(descriptor_, into.data() + filled, into.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Problem{name_ + ": " + std::strerror(errno)};
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  offset_ += filled;
  return filled;
}

Problem TarReader::ends_early() const {
  return Problem{name_ + " ends early, at offset " + std::to_string(offset_) +
                 ": the backup is not whole"};
}

Outcome<std::optional<TarEntry>> TarReader::next() {
  const std::uint64_t at = offset_;
  std::string block(kTarBlockBytes, '\0');
  const Outcome<std::size_t> got = fill(block);
  if (!got) return got.error();
  if (*got < block.size() && at == 0) return Problem{name_ + " is not a backup: it is too short"};
  if (*got < block.size()) return ends_early();
  if (block.find_first_not_of('\0') == std::string::npos) return std::optional<TarEntry>();
  const auto entry = decode_tar_header(block);
  if (!entry || entry->bytes > kTarFileBytesMax) {
    return Problem{name_ + " is not a backup: what is at offset " + std::to_string(at) +
                   " begins no file"};
  }
  return entry;
}

Outcome<std::string> TarReader::read(const TarEntry& entry) {
  const std::uint64_t wanted = entry.bytes + tar_padding(entry.bytes);
  std::string bytes;
  // In parts: the stream may have less than it says.
  while (bytes.size() < wanted) {
    std::string part(std::min<std::uint64_t>(wanted - bytes.size(), kTarPartBytes), '\0');
    const Outcome<std::size_t> got = fill(part);
    if (!got) return got.error();
    if (*got < part.size()) return ends_early();
    bytes += part;
  }
  bytes.resize(entry.bytes);
  return bytes;
}

}  // namespace millrace::tools
