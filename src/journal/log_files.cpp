#include "journal/log_files.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "journal/log_format.hpp"

namespace millrace::journal {

Outcome<std::vector<Lsn>> segments_in(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> names = files.list(directory);
  if (!names) return names.error();
  std::vector<Lsn> firsts;
  for (const std::string& name : *names) {
    if (const std::optional<Lsn> first = parse_segment_name(name)) firsts.push_back(*first);
  }
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

Outcome<std::string> contents_of(FileSystem& files, const std::string& path) {
  const Outcome<std::unique_ptr<File>> file = files.open(path, FileSystem::Access::kRead);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  std::string bytes(*size, '\0');
  const Outcome<std::size_t> got = (*file)->read(0, bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

}  // namespace millrace::journal
