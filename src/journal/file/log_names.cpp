#include "journal/file/log_names.hpp"

#include <algorithm>
#include <optional>

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_starts.hpp"
#include "journal/file/removal.hpp"
#include "journal/file/reserve.hpp"

namespace millrace::journal {

Outcome<LogNames> names_in(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> listed = files.list(directory);
  if (!listed) return listed.error();
  LogNames names;
  for (const std::string& name : *listed) {
    if (const std::optional<Lsn> first = parse_segment_name(name)) names.segments.push_back(*first);
    if (is_numbered(name, kReservedPrefix)) names.reserved.push_back(name);
    if (is_numbered(name, kRemovedPrefix)) names.removed.push_back(name);
    if (name == kExtentName) names.has_extent = true;
    if (name == kStartsName) names.has_starts = true;
  }
  std::sort(names.segments.begin(), names.segments.end());
  return names;
}

}  // namespace millrace::journal
