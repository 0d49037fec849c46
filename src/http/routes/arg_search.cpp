#include "http/routes/arg_search.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {
namespace {

/// Deeper containers are not looked into.
constexpr std::size_t kDepthMax = 1000;
/// A character of a string, written as an escape.
constexpr std::size_t kEscapeBytesMax = 12;

/// The string whose bytes between the quotes these are.
std::string unescaped(const std::string& text) {
  if (text.find('\\') == text.npos) return text;
  const Json value = Json::parse('"' + text + '"', nullptr, false);
  return value.is_string() ? value.get<std::string>() : text;
}

/// Reads paths one after the other.
class PathReader {
 public:
  explicit PathReader(std::string_view text) : rest_(text) {}

  /// False: nothing follows.
  [[nodiscard]] bool has_more() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return !rest_.empty();
  }

  std::optional<ArgPath> next() {
    ArgPath path;
    while (true) {
      auto name = read_name();
      if (!name || rest_.empty()) return std::nullopt;
      path.names.push_back(*std::move(name));
      const char sign = rest_.front();
      rest_.remove_prefix(1);
      if (sign == ':') break;
      if (sign != '.') return std::nullopt;
    }
    return read_value(path) ? std::optional(std::move(path)) : std::nullopt;
  }

 private:
  static bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
  [[nodiscard]] bool is_quoted() const { return rest_.starts_with('"'); }

  std::optional<ArgName> read_name() {
    if (is_quoted()) {
      auto text = read_quoted();
      return text ? std::optional(ArgName{*std::move(text), true}) : std::nullopt;
    }
    const auto* const end = std::find_if(rest_.begin(), rest_.end(), [](char byte) {
      return is_blank(byte) || std::string_view(".:>\"").find(byte) != std::string_view::npos;
    });
    if (end == rest_.begin()) return std::nullopt;
    return ArgName{take(end), false};
  }

  bool read_value(ArgPath& path) {
    if (is_quoted()) {
      auto text = read_quoted(&path.is_beginning);
      if (!text || (!rest_.empty() && !is_blank(rest_.front()))) return false;
      path.value = *std::move(text);
      return true;
    }
    path.value = take(std::find_if(rest_.begin(), rest_.end(), is_blank));
    if (path.value.empty()) return false;
    path.is_beginning = path.value.ends_with('*');
    if (path.is_beginning) path.value.pop_back();
    return true;
  }

  /// What is in quotes; nullopt: they do not end. With `is_beginning`, `*` may be its end.
  std::optional<std::string> read_quoted(bool* is_beginning = nullptr) {
    std::string text;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      const bool is_last = rest_.substr(i + 1).starts_with('"');
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return text;
      }
      if (is_beginning != nullptr && rest_[i] == '*' && is_last) {
        *is_beginning = true;
        continue;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      text += rest_[i];
    }
    return std::nullopt;
  }

  std::string take(const char* end) {
    std::string text(rest_.begin(), end);
    rest_.remove_prefix(text.size());
    return text;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<ArgPath>> parse_args(std::string_view text) {
  std::vector<ArgPath> paths;
  PathReader reader(text);
  while (reader.has_more()) {
    auto path = reader.next();
    if (!path) return std::nullopt;
    paths.push_back(*std::move(path));
  }
  return paths.empty() ? std::nullopt : std::optional(std::move(paths));
}

ArgSearch::ArgSearch(ArgPath path) : path_(std::move(path)) {
  std::size_t longest = path_.value.size();
  for (const ArgName& name : path_.names) longest = std::max(longest, name.text.size());
  text_max_ = (longest + 2) * kEscapeBytesMax;
}

void ArgSearch::restart() {
  open_.clear();
  skipped_ = 0;
  is_over_ = false;
  in_ = In::kNothing;
  text_.clear();
  has_name_ = false;
}

bool ArgSearch::read(std::string_view bytes) {
  for (const char byte : bytes) {
    if (is_over_) return false;
    if (read_byte(byte)) return true;
  }
  return false;
}

void ArgSearch::add_to_text(char byte) {
  if (skipped_ == 0 && text_.size() < text_max_) text_ += byte;
}

bool ArgSearch::read_byte(char byte) {
  switch (in_) {
    case In::kEscape:
      add_to_text(byte);
      in_ = In::kString;
      return false;
    case In::kString:
      if (byte == '"') return end_text();
      add_to_text(byte);
      if (byte == '\\') in_ = In::kEscape;
      return false;
    case In::kLiteral:
      if (byte != ',' && byte != ']' && byte != '}' && byte > ' ') {
        add_to_text(byte);
        return false;
      }
      if (end_literal()) return true;
      break;
    case In::kNothing:
      break;
  }
  if (byte == '[' || byte == '{') {
    open(byte == '[');
  } else if (byte == ']' || byte == '}') {
    close();
  } else if (byte == ',') {
    has_name_ = false;
    if (skipped_ == 0 && !open_.empty()) ++open_.back().index;
  } else if (byte == '"') {
    in_ = In::kString;
    text_.clear();
  } else if (byte > ' ' && byte != ':') {
    in_ = In::kLiteral;
    text_.clear();
    add_to_text(byte);
  }
  return false;
}

/// How many names of the path lead to the value that comes next; nullopt: it is not on the path.
std::optional<std::size_t> ArgSearch::names_to_value() const {
  if (open_.empty()) return 0;
  const Level& level = open_.back();
  if (level.names == path_.names.size()) {
    return level.is_array ? std::optional(level.names) : std::nullopt;
  }
  const ArgName& wanted = path_.names[level.names];
  if (!level.is_array) {
    return has_name_ && name_ == wanted.text ? std::optional(level.names + 1) : std::nullopt;
  }
  const auto index = parse_number<std::size_t>(wanted.text);
  if (!index || wanted.is_quoted) return level.names;
  return *index == level.index ? std::optional(level.names + 1) : std::nullopt;
}

void ArgSearch::open(bool is_array) {
  const std::optional<std::size_t> names = skipped_ > 0 ? std::nullopt : names_to_value();
  if (names && open_.size() < kDepthMax) {
    open_.push_back({.is_array = is_array, .names = *names});
  } else {
    ++skipped_;
  }
  has_name_ = false;
}

void ArgSearch::close() {
  if (skipped_ > 0) {
    --skipped_;
  } else if (!open_.empty()) {
    open_.pop_back();
  }
  has_name_ = false;
  is_over_ = skipped_ == 0 && open_.empty();
}

bool ArgSearch::end_text() {
  in_ = In::kNothing;
  if (skipped_ > 0 || open_.empty()) return false;
  const bool is_cut = text_.size() == text_max_;
  if (is_cut) text_.resize(without_broken_escape(text_).size());
  std::string text = unescaped(text_);
  if (!open_.back().is_array && !has_name_) {
    name_ = std::move(text);
    has_name_ = true;
    return false;
  }
  return (path_.is_beginning || !is_cut) && is_wanted(text);
}

bool ArgSearch::end_literal() {
  in_ = In::kNothing;
  return skipped_ == 0 && !open_.empty() && is_wanted(text_);
}

bool ArgSearch::is_wanted(std::string_view value) const {
  if (names_to_value() != path_.names.size()) return false;
  return path_.is_beginning ? value.starts_with(path_.value) : value == path_.value;
}

}  // namespace millrace::http
