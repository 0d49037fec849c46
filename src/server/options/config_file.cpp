#include "server/options/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

/// Walks over the text once, byte by byte. Strings and comments have no structure.
class DepthReader {
 public:
  explicit DepthReader(std::string_view text) : text_(text) {}

  std::optional<std::uint32_t> read() {
    while (at_ < text_.size()) {
      step();
      if (depth_ > kTomlDepthMax && !is_line_empty_) return line_;
    }
    return std::nullopt;
  }

 private:
  void step() {
    const char c = text_[at_];
    const bool begins_line = is_line_empty_;
    if (std::string_view(" \t\r\n#").find(c) == std::string_view::npos) is_line_empty_ = false;
    switch (c) {
      case '\n':
        end_line();
        break;
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size());
        return;
      case '"':
      case '\'':
        pass_string(c);
        return;
      case '.':
        ++depth_;
        break;
      case '[':
      case '{':
        open(c == '[' && begins_line && around_.empty());
        break;
      case ']':
      case '}':
        close();
        break;
      case ',':
        if (!around_.empty()) depth_ = around_.back() + 1;
        break;
      default:
        break;
    }
    ++at_;
  }

  void end_line() {
    ++line_;
    if (!around_.empty()) return;
    is_line_empty_ = true;
    is_header_ = false;
    depth_ = header_depth_ + 1;
  }

  void open(bool is_header) {
    if (is_header) {
      is_header_ = true;
      depth_ = 1;
    } else if (!is_header_) {
      around_.push_back(depth_++);
    }
  }

  void close() {
    if (is_header_) {
      header_depth_ = depth_;
    } else if (!around_.empty()) {
      depth_ = around_.back();
      around_.pop_back();
    }
  }

  void pass_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_).starts_with(three);
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      // A short string without an end is an error at the end of its line.
      if (c == '\n' && !is_long) return;
      if (c == '\n') ++line_;
      const bool ends = c == quote && (!is_long || text_.substr(at_).starts_with(three));
      at_ += ends && is_long ? 3 : 1;
      if (ends) break;
      if (c == '\\' && quote == '"' && at_ < text_.size() && text_[at_] != '\n') ++at_;
    }
    // Up to two quotes before those of the end are of the string.
    for (int i = 0; is_long && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t depth_ = 1;            ///< of the name or value here
  std::size_t header_depth_ = 0;     ///< of the table that the lines belong to
  std::vector<std::size_t> around_;  ///< the depths before each open bracket of a value
  bool is_line_empty_ = true;        ///< so far
  bool is_header_ = false;           ///< this line is one
};

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

std::optional<std::uint32_t> line_nested_too_deep(std::string_view text) {
  return DepthReader(text).read();
}

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

Outcome<Done> ConfigTable::check_keys(const std::string& name,
                                      std::span<const std::string_view> known) const {
  for (const auto& [key, value] : table_) {
    if (std::ranges::find(known, key.str()) != known.end()) continue;
    return problem(key.source().begin.line,
                   "unknown key '" + one_line(key.str(), kShownKeyBytesMax) + "' in " + name);
  }
  return Done{};
}

Outcome<Done> read_entries(const ConfigDocument& document, const std::string& name,
                           const ReadEntry& read) {
  const toml::node* const node = document.root().get(name);
  if (node == nullptr) return Done{};
  const ConfigTable root(document, document.root());
  const toml::array* const entries = node->as_array();
  if (entries == nullptr) {
    return root.problem(*node, "an entry begins with [[" + name + "]], in double brackets");
  }
  for (const toml::node& entry : *entries) {
    if (!entry.is_table()) {
      return root.problem(entry, name + " must be written as [[" + name + "]]");
    }
    if (auto done = read(ConfigTable(document, *entry.as_table())); !done) return done;
  }
  return Done{};
}

Outcome<Done> read_entries(std::span<const ConfigDocument> documents, const std::string& name,
                           const ReadEntry& read) {
  for (const ConfigDocument& document : documents) {
    if (auto done = read_entries(document, name, read); !done) return done;
  }
  return Done{};
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
