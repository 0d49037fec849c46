#include "tools/directory/stopped_journal.hpp"

#include <utility>

#include "journal/file/log_files.hpp"
#include "journal/shared/cache_directory.hpp"
#include "server/foreign_jobs.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {

Outcome<std::unique_ptr<journal::FileJournal>> open_stopped_journal(journal::FileSystem& files,
                                                                    const std::string& directory) {
  using journal::DirectoryContent;
  // Nothing is written where there is none of ours: not even a lock.
  const auto names = journal::names_in(files, directory);
  if (!names) return names.error();
  if (auto own = server::refuse_foreign_jobs(directory); !own) {
    return Problem{directory + " holds jobs of another server, and no journal of Millrace"};
  }
  if (auto own = refuse_backup(directory); !own) return own.error();
  if (names->segments.empty()) return Problem{directory + " has no journal"};
  const auto content = journal::look_into(files, directory);
  if (!content) return content.error();
  if (auto ended = refuse_unfinished(directory); !ended) return ended.error();
  if (*content == DirectoryContent::kCache || *content == DirectoryContent::kBrokenCache) {
    return Problem{directory +
                   " is a cache of a shared log: copy it with `millrace backup`, and use the copy"};
  }
  journal::FileJournalOptions options;
  options.is_stepped = true;
  return journal::FileJournal::open(files, directory, std::move(options));
}

}  // namespace millrace::tools
