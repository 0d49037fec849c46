#include "server/options/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "server/options/toml/toml_depth.hpp"

namespace millrace::server {
namespace {

Setting read_value(const toml::node& value) {
  if (const auto* string = value.as_string()) {
    return {.kind = Setting::Kind::kString, .text = string->get()};
  }
  if (const auto* number = value.as_integer()) {
    return {.kind = Setting::Kind::kNumber, .text = std::to_string(number->get())};
  }
  if (const auto* boolean = value.as_boolean()) {
    return {.kind = Setting::Kind::kBoolean, .text = boolean->get() ? "true" : "false"};
  }
  if (value.is_table()) return {.kind = Setting::Kind::kEmptyTable, .text = ""};
  return {};
}

/// The depth of tables was checked, so recursion is safe. `path` leads to the table, and is the
/// same afterwards.
void collect(const toml::table& table, std::vector<std::string>& path,
             const ConfigDocument& document, std::vector<Setting>& settings) {
  for (const auto& [key, value] : table) {
    path.emplace_back(key.str());
    const toml::table* inner = value.as_table();
    if (inner != nullptr && !inner->empty()) {
      collect(*inner, path, document, settings);
    } else {
      Setting setting = read_value(value);
      setting.path = path;
      setting.place = document.place(key.source().begin.line);
      settings.push_back(std::move(setting));
    }
    path.pop_back();
  }
}

Problem too_long(const std::string& file) {
  return Problem{"cannot read config file " + file +
                 ": too long: the limit is 1 MiB for all config files together"};
}

/// The text of one file, without a byte order mark.
Outcome<std::string> read_text(const std::string& file, ConfigFile kind) {
  const auto problem = [&](const std::string& why) {
    return Problem{"cannot read config file " + file + ": " + why};
  };
  // A stream would read a directory as an empty file.
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return problem("is a directory");
  if (kind == ConfigFile::kRegular && may_wait_for_writer(file)) {
    return problem("not a regular file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return problem(std::strerror(errno));
  std::string text(kConfigBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return problem("a read failed");
  if (text.size() > kConfigBytesMax) return too_long(file);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace

std::string Setting::name() const {
  std::string name;
  for (const std::string& part : path) name += (name.empty() ? "" : ".") + part;
  return name;
}

std::string Setting::shown_name() const {
  return one_line(name(), kShownKeyBytesMax);
}

bool may_wait_for_writer(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  return std::filesystem::is_other(status) &&
         std::filesystem::canonical(file, error) != "/dev/null";
}

Outcome<std::vector<std::string>> toml_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  }
  // Without this, an unreadable folder would silently drop what is in it.
  if (error && error != std::errc::no_such_file_or_directory) {
    return Problem{"cannot read config files in " + folder + ": " + error.message()};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ConfigDocument::place(std::uint32_t line) const {
  const auto next = std::find_if(files_.begin(), files_.end(),
                                 [=](const File& file) { return file.first_line > line; });
  CHECK(next != files_.begin());
  const File& file = *std::prev(next);
  return file.name + ":" + std::to_string(line - file.first_line + 1);
}

void ConfigDocument::append(const std::string& file, std::string_view text) {
  files_.push_back({file, lines_ + 1});
  text_ += text;
  // A last line without its end must not swallow the first line of the next file.
  text_ += '\n';
  lines_ += 1 + static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
}

Outcome<Done> ConfigDocument::parse() {
  if (const auto line = line_nested_too_deep(text_)) {
    return Problem{place(*line) + ": nested deeper than " + std::to_string(kTomlDepthMax) +
                   " levels"};
  }
  toml::parse_result parsed = toml::parse(text_);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Problem{place(error.source().begin.line) + ": " + std::string(error.description())};
  }
  text_ = {};
  root_ = std::move(parsed).table();
  std::vector<std::string> path;
  collect(root_, path, *this, settings_);
  return Done{};
}

Outcome<ConfigDocument> ConfigDocument::parse(const std::string& file, std::string_view text) {
  ConfigDocument document;
  document.append(file, text);
  if (auto parsed = document.parse(); !parsed) return parsed.error();
  return document;
}

Outcome<ConfigDocument> ConfigDocument::read(const std::vector<std::string>& files) {
  ConfigDocument document;
  for (const std::string& file : files) {
    const auto text = read_text(file, ConfigFile::kRegular);
    if (!text) return text.error();
    if (text->size() + document.text_.size() > kConfigBytesMax) return too_long(file);
    document.append(file, *text);
  }
  if (auto parsed = document.parse(); !parsed) return parsed.error();
  return document;
}

Outcome<std::vector<ConfigDocument>> read_each(const std::vector<std::string>& files,
                                               ConfigFile first) {
  std::vector<ConfigDocument> documents;
  std::size_t bytes = 0;
  for (const std::string& file : files) {
    const auto text = read_text(file, documents.empty() ? first : ConfigFile::kRegular);
    if (!text) return text.error();
    bytes += text->size();
    if (bytes > kConfigBytesMax) return too_long(file);
    auto document = ConfigDocument::parse(file, *text);
    if (!document) return document.error();
    documents.push_back(std::move(*document));
  }
  return documents;
}

}  // namespace millrace::server
