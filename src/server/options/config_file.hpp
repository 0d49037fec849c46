#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/options/toml/toml.hpp"

namespace millrace::server {

/// How deep a config file may nest. Each part of a header and of a dotted key counts, and each
/// bracket of a value.
inline constexpr std::size_t kTomlDepthMax = 256;

/// The line, from 1, where this TOML is nested deeper than that. toml++ limits the brackets of
/// values only, while it builds and removes a level of tables for each part of a name by recursion.
/// So this is to be asked first. Of what is no TOML, it looks at least as far as toml++ does.
[[nodiscard]] std::optional<std::uint32_t> line_nested_too_deep(std::string_view text);

/// One key of a TOML document with its value.
struct Setting {
  enum class Kind {
    kString,
    kNumber,   ///< a whole one
    kBoolean,  ///< `true` or `false`
    kEmptyTable,
    kOther,  ///< a list, a fraction or a time, which no option accepts
  };
  std::vector<std::string> path;  ///< the tables around it, outermost first, and the key
  Kind kind = Kind::kOther;
  std::string text;   ///< the value as it would be written for a flag; empty for the last two
  std::string place;  ///< `FILE:LINE`

  /// The path with dots.
  [[nodiscard]] std::string name() const;

  /// The same for messages, in one line and cut.
  [[nodiscard]] std::string shown_name() const;
};

/// Bytes of a key in a message.
inline constexpr std::size_t kShownKeyBytesMax = 100;

/// Config files, parsed as one TOML document.
class ConfigDocument {
 public:
  /// The files concatenated in this order: so the header of a table may be in one of them only.
  /// Invalid TOML is a problem that begins with `FILE:LINE: `. All are regular files.
  [[nodiscard]] static Outcome<ConfigDocument> read(const std::vector<std::string>& files);

  /// One file that has this text.
  [[nodiscard]] static Outcome<ConfigDocument> parse(const std::string& file,
                                                     std::string_view text);

  [[nodiscard]] const toml::table& root() const { return root_; }

  /// All keys, sorted, those of tables instead of the tables. A list is one key, whatever is in it.
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }

  /// `FILE:LINE` of a line of the whole document. Both count from 1.
  [[nodiscard]] std::string place(std::uint32_t line) const;

 private:
  struct File {
    std::string name;
    std::uint32_t first_line;
  };

  ConfigDocument() = default;
  void append(const std::string& file, std::string_view text);
  [[nodiscard]] Outcome<Done> parse();

  std::string text_;
  std::vector<File> files_;
  std::uint32_t lines_ = 0;
  toml::table root_;
  std::vector<Setting> settings_;
};

/// A table of a document, for one who reads it. Problems begin with `FILE:LINE: `.
class ConfigTable {
 public:
  ConfigTable(const ConfigDocument& document, const toml::table& table)
      : document_(document), table_(table) {}

  [[nodiscard]] const toml::table& table() const { return table_; }
  [[nodiscard]] std::string place() const { return document_.place(table_.source().begin.line); }
  [[nodiscard]] Problem problem(std::uint32_t line, const std::string& why) const {
    return Problem{document_.place(line) + ": " + why};
  }
  [[nodiscard]] Problem problem(const toml::node& node, const std::string& why) const {
    return problem(node.source().begin.line, why);
  }
  /// The value; the table, if it is not there.
  [[nodiscard]] const toml::node& at(std::string_view key) const {
    const toml::node* const node = table_.get(key);
    return node != nullptr ? *node : table_;
  }

  /// One in it, or another of the document.
  [[nodiscard]] ConfigTable part(const toml::table& table) const {
    return ConfigTable(document_, table);
  }

  /// A key of the table that is none of these is a problem. `name`: what the file calls the table.
  [[nodiscard]] Outcome<Done> check_keys(const std::string& name,
                                         std::span<const std::string_view> known) const;

 private:
  const ConfigDocument& document_;
  const toml::table& table_;
};

/// Calls `read` with each `[[name]]` of the documents, in their order, until it has a problem.
using ReadEntry = std::function<Outcome<Done>(const ConfigTable& entry)>;
[[nodiscard]] Outcome<Done> read_entries(const ConfigDocument& document, const std::string& name,
                                         const ReadEntry& read);
[[nodiscard]] Outcome<Done> read_entries(std::span<const ConfigDocument> documents,
                                         const std::string& name, const ReadEntry& read);

/// What a config file may be.
enum class ConfigFile {
  kRegular,
  kAny,  ///< also a pipe, whose writer is waited for
};

/// Whether to read the file may take for ever: a pipe, a socket or a device other than /dev/null.
[[nodiscard]] bool may_wait_for_writer(const std::string& file);

/// Parses each of the files as a document of its own. All but the first are regular files.
[[nodiscard]] Outcome<std::vector<ConfigDocument>> read_each(
    const std::vector<std::string>& files, ConfigFile first = ConfigFile::kRegular);

/// The paths of the `*.toml` in the folder, in alphabetical order. None where there is no folder.
[[nodiscard]] Outcome<std::vector<std::string>> toml_files(const std::string& folder);

/// Limit for all files together.
inline constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

}  // namespace millrace::server
