#include "tools/directory/marks.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

constexpr std::size_t kMarkBytesMax = std::size_t{64} * 1024;

std::string mark_path(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

constexpr std::string_view kImportName = "import";
constexpr std::string_view kImportText =
    "An import into this directory has not ended. Run it again.\n";

/// The numbers of a line, with a blank between two. Empty: there is something else.
std::vector<std::uint64_t> numbers_in(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  while (!line.empty()) {
    const auto number = parse_number<std::uint64_t>(take_word(line));
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

std::string counts_text(const RunCounts& counts) {
  std::string text;
  const auto add = [&text](std::uint64_t number, char end) {
    text += std::to_string(number) + end;
  };
  const CountersChanged& total = counts.counters;
  add(total.processed, ' '), add(total.failed, ' ');
  add(static_cast<std::uint64_t>(total.day), ' ');
  add(total.processed_today, ' '), add(total.failed_today, '\n');
  for (const DayCounts& day : counts.days) {
    add(static_cast<std::uint64_t>(day.day), ' ');
    add(day.processed, ' '), add(day.failed, '\n');
  }
  return text;
}

/// A line of five numbers, and one of three for each day.
std::optional<RunCounts> parse_counts(std::string_view text) {
  const std::vector<std::uint64_t> total = numbers_in(take_line(text));
  if (total.size() != 5) return std::nullopt;
  RunCounts counts;
  counts.counters = {.processed = total[0],
                     .failed = total[1],
                     .day = static_cast<std::int32_t>(total[2]),
                     .processed_today = total[3],
                     .failed_today = total[4]};
  while (!text.empty()) {
    const std::vector<std::uint64_t> day = numbers_in(take_line(text));
    if (day.size() != 3) return std::nullopt;
    counts.days.push_back(
        {.day = static_cast<std::int32_t>(day[0]), .processed = day[1], .failed = day[2]});
  }
  return counts;
}

/// After the text, the source and the first id have a line each. Then come the counts.
std::optional<ImportMark> parse_mark(std::string_view text) {
  if (!text.starts_with(kImportText) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(kImportText.size());
  ImportMark mark{.source = std::string(take_line(text))};
  const auto first_id = parse_number<JobId>(take_line(text));
  if (!first_id || *first_id == 0) return std::nullopt;
  mark.first_id = *first_id;
  if (text.empty()) return mark;
  mark.counts = parse_counts(text);
  if (!mark.counts) return std::nullopt;
  return mark;
}

constexpr std::string_view kExportName = "export";
constexpr std::string_view kExportText =
    "The jobs of this directory were given to another server, or some of them were. No server\n"
    "serves them here, so that none is run twice.\n";

/// After the text, each member has a line.
std::optional<ExportMark> parse_export_mark(std::string_view text) {
  if (!text.starts_with(kExportText) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(kExportText.size());
  ExportMark mark{.target = std::string(take_line(text)), .process = std::string(take_line(text))};
  for (std::uint64_t* const member :
       {&mark.log_end, &mark.salt, &mark.refused, &mark.given, &mark.jobs}) {
    const auto number = parse_number<std::uint64_t>(take_line(text));
    if (!number) return std::nullopt;
    *member = *number;
  }
  const bool fits = mark.refused <= mark.given && mark.given <= mark.jobs;
  if (!text.empty() || !fits) return std::nullopt;
  return mark;
}

/// nullopt: there is none, or no directory.
template <typename Mark>
Outcome<std::optional<Mark>> read_mark(journal::FileSystem& files, const std::string& directory,
                                       std::string_view name,
                                       std::optional<Mark> (*parse)(std::string_view text)) {
  const auto names = files.list(directory);
  if (!names || std::ranges::find(*names, name) == names->end()) return std::optional<Mark>();
  const std::string path = mark_path(directory, name);
  const auto text = journal::read_up_to(files, path, kMarkBytesMax);
  if (!text) return text.error();
  auto mark = parse(*text);
  if (!mark) return Problem{path + " is not of an " + std::string(name) + " of Millrace"};
  return mark;
}

}  // namespace

Outcome<std::optional<ImportMark>> read_import_mark(journal::FileSystem& files,
                                                    const std::string& directory) {
  return read_mark(files, directory, kImportName, parse_mark);
}

Outcome<Done> write_import_mark(journal::FileSystem& files, const std::string& directory,
                                const ImportMark& mark) {
  return journal::replace_file(files, mark_path(directory, kImportName),
                               std::string(kImportText) + mark.source + "\n" +
                                   std::to_string(mark.first_id) + "\n" +
                                   (mark.counts ? counts_text(*mark.counts) : ""));
}

Outcome<Done> remove_import_mark(journal::FileSystem& files, const std::string& directory) {
  const auto removed = files.remove(mark_path(directory, kImportName));
  return removed ? files.sync_directory(directory) : removed;
}

Outcome<Done> refuse_unfinished_import(const std::string& directory) {
  journal::PosixFileSystem files;
  const auto mark = read_import_mark(files, directory);
  if (!mark) return mark.error();
  if (!*mark) return Done{};
  return Problem{"an import of " + (*mark)->source + " into " + directory +
                 " has not ended: run it again"};
}

std::string export_mark_path(const std::string& directory) {
  return mark_path(directory, kExportName);
}

Outcome<std::optional<ExportMark>> read_export_mark(journal::FileSystem& files,
                                                    const std::string& directory) {
  return read_mark(files, directory, kExportName, parse_export_mark);
}

Outcome<Done> write_export_mark(journal::FileSystem& files, const std::string& directory,
                                const ExportMark& mark) {
  std::string text = std::string(kExportText) + mark.target + "\n" + mark.process + "\n";
  for (const std::uint64_t number :
       {mark.log_end, mark.salt, mark.refused, mark.given, mark.jobs}) {
    text += std::to_string(number) + "\n";
  }
  return journal::replace_file(files, export_mark_path(directory), text);
}

Outcome<Done> refuse_exported(const std::string& directory) {
  journal::PosixFileSystem files;
  const auto mark = read_export_mark(files, directory);
  if (!mark) return mark.error();
  if (!*mark) return Done{};
  const std::string file = export_mark_path(directory);
  if ((*mark)->is_done()) {
    return Problem{"the jobs of " + directory + " were exported to " + (*mark)->target +
                   "; to use them here as well, remove the file " + file};
  }
  return Problem{"an export of " + directory + " to " + (*mark)->target + " has not ended (" +
                 http::grouped((*mark)->given) + " of " + http::count_of((*mark)->jobs, "job") +
                 "): run it again, or remove the file " + file + " to use them all here"};
}

Outcome<Done> refuse_unfinished_restore(const std::string& directory) {
  const std::string mark = directory + "/" + kRestoreName;
  std::error_code error;
  if (!std::filesystem::exists(mark, error) &&
      !std::filesystem::exists(journal::draft_of(mark), error)) {
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
