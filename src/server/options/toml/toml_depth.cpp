#include "server/options/toml/toml_depth.hpp"

#include <algorithm>
#include <string>
#include <vector>

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

}  // namespace

std::optional<std::uint32_t> line_nested_too_deep(std::string_view text) {
  return DepthReader(text).read();
}

}  // namespace millrace::server
