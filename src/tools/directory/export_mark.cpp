#include "tools/directory/export_mark.hpp"

#include <string_view>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"
#include "tools/directory/mark_file.hpp"

namespace millrace::tools {
namespace {

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

}  // namespace

std::string export_mark_path(const std::string& directory) {
  return directory + "/" + std::string(kExportName);
}

Outcome<std::optional<ExportMark>> read_export_mark(journal::FileSystem& files,
                                                    const std::string& directory) {
  const auto text = read_mark_file(files, directory, kExportName);
  if (!text) return text.error();
  if (!*text) return std::optional<ExportMark>();
  const auto mark = parse_export_mark(**text);
  if (!mark) {
    return Problem{export_mark_path(directory) + " is not of an export of Millrace"};
  }
  return mark;
}

Outcome<Done> write_export_mark(journal::FileSystem& files, const std::string& directory,
                                const ExportMark& mark) {
  std::string text = std::string(kExportText) + mark.target + "\n" + mark.process + "\n";
  for (const std::uint64_t number :
       {mark.log_end, mark.salt, mark.refused, mark.given, mark.jobs}) {
    text += std::to_string(number) + "\n";
  }
  return write_mark_file(files, directory, kExportName, text);
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

}  // namespace millrace::tools
