#include "server/tools/stopped_journal.hpp"

#include <utility>

#include "journal/shared/cache_directory.hpp"
#include "server/tools/unfinished.hpp"

namespace millrace::server {

Outcome<std::unique_ptr<journal::FileJournal>> open_stopped_journal(journal::FileSystem& files,
                                                                    const std::string& directory) {
  using journal::DirectoryContent;
  const auto content = journal::look_into(files, directory);
  if (!content) return content.error();
  if (auto ended = refuse_unfinished(directory); !ended) return ended.error();
  if (*content == DirectoryContent::kNothing) return Problem{directory + " has no journal"};
  if (*content == DirectoryContent::kCache || *content == DirectoryContent::kBrokenCache) {
    return Problem{directory +
                   " is a cache of a shared log: copy it with `millrace backup`, and use the copy"};
  }
  journal::FileJournalOptions options;
  options.is_stepped = true;
  return journal::FileJournal::open(files, directory, std::move(options));
}

}  // namespace millrace::server
