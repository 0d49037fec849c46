#include "tools/directory/mark_file.hpp"

#include <algorithm>
#include <array>

namespace millrace::tools {
namespace {

constexpr std::size_t kMarkBytesMax = std::size_t{64} * 1024;

std::string mark_path(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

}  // namespace

Outcome<std::optional<std::string>> read_mark_file(journal::FileSystem& files,
                                                   const std::string& directory,
                                                   std::string_view name) {
  const auto names = files.list(directory);
  if (!names || std::ranges::find(*names, name) == names->end()) {
    return std::optional<std::string>();
  }
  const auto file = files.open(mark_path(directory, name), journal::FileSystem::Access::kRead);
  if (!file) return file.error();
  std::string text(kMarkBytesMax, '\0');
  const auto read = (*file)->read(0, text);
  if (!read) return read.error();
  text.resize(*read);
  return std::optional<std::string>(std::move(text));
}

Outcome<Done> write_mark_file(journal::FileSystem& files, const std::string& directory,
                              std::string_view name, std::string_view text) {
  // Written first, and then renamed.
  const std::string draft = mark_path(directory, name) + ".new";
  (void)files.remove(draft);
  const auto file = files.create(draft);
  if (!file) return file.error();
  const std::array<std::string_view, 1> parts = {text};
  if (auto written = (*file)->write(0, parts); !written) return written;
  if (auto synced = (*file)->sync(); !synced) return synced;
  if (auto named = files.rename(draft, mark_path(directory, name)); !named) return named;
  return files.sync_directory(directory);
}

Outcome<Done> remove_mark_file(journal::FileSystem& files, const std::string& directory,
                               std::string_view name) {
  if (auto removed = files.remove(mark_path(directory, name)); !removed) return removed;
  return files.sync_directory(directory);
}

}  // namespace millrace::tools
