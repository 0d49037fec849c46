#include "tools/directory/import_mark.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "tools/directory/mark_file.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kImportName = "import";
constexpr std::string_view kImportText =
    "An import into this directory has not ended. Run it again.\n";

/// The numbers of a line, with a blank between two. Empty: there is something else.
std::vector<std::uint64_t> numbers_in(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    const auto number = parse_number<std::uint64_t>(word);
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

}  // namespace

Outcome<std::optional<ImportMark>> read_import_mark(journal::FileSystem& files,
                                                    const std::string& directory) {
  const auto text = read_mark_file(files, directory, kImportName);
  if (!text) return text.error();
  if (!*text) return std::optional<ImportMark>();
  const auto mark = parse_mark(**text);
  if (!mark) {
    return Problem{directory + "/" + std::string(kImportName) + " is not of an import of Millrace"};
  }
  return mark;
}

Outcome<Done> write_import_mark(journal::FileSystem& files, const std::string& directory,
                                const ImportMark& mark) {
  return write_mark_file(files, directory, kImportName,
                         std::string(kImportText) + mark.source + "\n" +
                             std::to_string(mark.first_id) + "\n" +
                             (mark.counts ? counts_text(*mark.counts) : ""));
}

Outcome<Done> remove_import_mark(journal::FileSystem& files, const std::string& directory) {
  return remove_mark_file(files, directory, kImportName);
}

Outcome<Done> refuse_unfinished_import(const std::string& directory) {
  journal::PosixFileSystem files;
  const auto mark = read_import_mark(files, directory);
  if (!mark) return mark.error();
  if (!*mark) return Done{};
  return Problem{"an import of " + (*mark)->source + " into " + directory +
                 " has not ended: run it again"};
}

}  // namespace millrace::tools
