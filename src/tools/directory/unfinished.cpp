#include "tools/directory/unfinished.hpp"

#include <filesystem>
#include <system_error>

#include "tools/directory/export_mark.hpp"
#include "tools/directory/import_mark.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {

Outcome<Done> refuse_unfinished_restore(const std::string& directory) {
  const std::string mark = directory + "/" + kRestoreName;
  std::error_code error;
  if (!std::filesystem::exists(mark, error) && !std::filesystem::exists(draft_of(mark), error)) {
    return Done{};
  }
  return Problem{"a restore into " + directory + " has not ended: run it again"};
}

Outcome<Done> refuse_unfinished(const std::string& directory) {
  Outcome<Done> ended = refuse_unfinished_import(directory);
  return ended ? refuse_unfinished_restore(directory) : ended;
}

Outcome<Done> refuse_unfinished_or_exported(const std::string& directory) {
  Outcome<Done> ended = refuse_unfinished(directory);
  return ended ? refuse_exported(directory) : ended;
}

Outcome<Done> refuse_unservable(const std::string& directory) {
  Outcome<Done> ended = refuse_unfinished_or_exported(directory);
  return ended ? refuse_backup(directory) : ended;
}

}  // namespace millrace::tools
