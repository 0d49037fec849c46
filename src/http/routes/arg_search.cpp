#include "http/routes/arg_search.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
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

/// Without an escape at its end that is not complete.
void drop_broken_escape(std::string& text) {
  const std::size_t escape = text.rfind('\\');
  if (escape != text.npos && text.size() - escape < kEscapeBytesMax) text.resize(escape);
}

}  // namespace

std::optional<ArgPath> parse_arg(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return std::nullopt;
  ArgPath path{.names = {}, .value = std::string(text.substr(colon + 1))};
  std::string_view names = text.substr(0, colon);
  while (true) {
    const std::size_t end = std::min(names.find('.'), names.size());
    if (end == 0) return std::nullopt;
    path.names.emplace_back(names.substr(0, end));
    if (end == names.size()) return path;
    names.remove_prefix(end + 1);
  }
}

ArgSearch::ArgSearch(ArgPath path) : path_(std::move(path)) {
  is_beginning_ = path_.value.ends_with('*');
  if (is_beginning_) path_.value.pop_back();
  std::size_t longest = path_.value.size();
  for (const std::string& name : path_.names) longest = std::max(longest, name.size());
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
  const std::string& wanted = path_.names[level.names];
  if (!level.is_array) {
    return has_name_ && name_ == wanted ? std::optional(level.names + 1) : std::nullopt;
  }
  const auto index = parse_number<std::size_t>(wanted);
  if (!index) return level.names;
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
  if (is_cut) drop_broken_escape(text_);
  std::string text = unescaped(text_);
  if (!open_.back().is_array && !has_name_) {
    name_ = std::move(text);
    has_name_ = true;
    return false;
  }
  return (is_beginning_ || !is_cut) && is_wanted(text);
}

bool ArgSearch::end_literal() {
  in_ = In::kNothing;
  return skipped_ == 0 && !open_.empty() && is_wanted(text_);
}

bool ArgSearch::is_wanted(std::string_view value) const {
  if (names_to_value() != path_.names.size()) return false;
  return is_beginning_ ? value.starts_with(path_.value) : value == path_.value;
}

}  // namespace millrace::http
