#include "server/tools/unfinished.hpp"

#include "server/backup/restore.hpp"
#include "server/export/export_mark.hpp"
#include "server/import/import_mark.hpp"

namespace millrace::server {

Outcome<Done> refuse_unfinished(const std::string& directory) {
  Outcome<Done> ended = refuse_unfinished_import(directory);
  return ended ? refuse_unfinished_restore(directory) : ended;
}

Outcome<Done> refuse_unfinished_or_exported(const std::string& directory) {
  Outcome<Done> ended = refuse_unfinished(directory);
  return ended ? refuse_exported(directory) : ended;
}

}  // namespace millrace::server
