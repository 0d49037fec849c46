#include "support/transcript.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/text.hpp"

namespace millrace::test {
namespace {

[[noreturn]] void refuse(int line, const std::string& why) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + why);
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// The text after a mark is separated from it by one space, and may be missing.
std::string_view after_space(std::string_view text, int line) {
  if (!text.empty() && !take(text, " ")) refuse(line, "a space is missing after the mark");
  return text;
}

std::size_t hex_value(char digit, int line) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto place = kDigits.find(digit);
  if (place == std::string_view::npos) refuse(line, "\\x needs two small hexadecimal digits");
  return place;
}

/// The byte for an escape, whose backslash has been taken.
char unescape_one(std::string_view& text, int line) {
  constexpr std::string_view kNames = "rnt0\\*";
  constexpr std::string_view kBytes{"\r\n\t\0\\*", 6};
  char name = text.front();
  text.remove_prefix(1);
  if (auto place = kNames.find(name); place != std::string_view::npos) return kBytes[place];
  if (name != 'x' || text.size() < 2) refuse(line, "unknown escape");
  auto byte = hex_value(text[0], line) * 16 + hex_value(text[1], line);
  text.remove_prefix(2);
  return static_cast<char>(byte);
}

/// Takes `{abc*3}` and appends abcabcabc; leaves any other text alone.
bool take_repeat(std::string_view& text, std::string& out) {
  auto end = text.find('}');
  auto star = text.find('*');
  if (!text.starts_with('{') || end == std::string_view::npos || star > end) return false;
  std::string_view unit = text.substr(1, star - 1);
  std::size_t count = 0;
  auto [rest, error] = std::from_chars(text.data() + star + 1, text.data() + end, count);
  if (error != std::errc{} || rest != text.data() + end || unit.find('{') != unit.npos)
    return false;
  for (std::size_t i = 0; i < count; ++i) out += unit;
  text.remove_prefix(end + 1);
  return true;
}

struct Unescaped {
  std::string text;
  bool ends_in_backslash = false;
  bool ends_in_star = false;  ///< a `*` that was not written as `\*`
};

Unescaped unescape(std::string_view text, int line) {
  Unescaped result;
  while (!text.empty()) {
    result.ends_in_star = text == "*";
    if (take_repeat(text, result.text)) continue;
    if (!take(text, "\\")) {
      result.text += text.front();
      text.remove_prefix(1);
    } else if (text.empty()) {
      result.ends_in_backslash = true;
    } else {
      result.text += unescape_one(text, line);
    }
  }
  return result;
}

Duration parse_duration(std::string_view text, int line) {
  std::int64_t count = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) refuse(line, "the clock moves by +N and a unit");
  std::string_view unit{rest, static_cast<std::size_t>(text.data() + text.size() - rest)};
  if (unit == "ms") return std::chrono::milliseconds{count};
  if (unit == "s") return std::chrono::seconds{count};
  if (unit == "m") return std::chrono::minutes{count};
  if (unit == "h") return std::chrono::hours{count};
  if (unit == "d") return std::chrono::hours{24} * count;
  refuse(line, "unknown unit of time");
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Transcript parse() {
    std::istringstream lines{std::string{text_}};
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      if (!line.empty() && line.front() != '#') parse_line(line);
    }
    if (has_newline_lf()) use_lf();
    return std::move(transcript_);
  }

 private:
  void parse_line(std::string_view line) {
    if (take(line, "@ ")) return parse_time(line);
    char connection = 'a';
    if (line.front() >= 'a' && line.front() <= 'z') {
      connection = line.front();
      line.remove_prefix(1);
    }
    if (take(line, ">")) {
      parse_send(connection, after_space(line, line_));
    } else if (take(line, "<")) {
      parse_expectation(connection, line);
    } else if (take(line, "! ")) {
      parse_action(connection, line);
    } else {
      refuse(line_, "neither >, <, @, ! nor #");
    }
  }

  void parse_time(std::string_view line) {
    const bool is_wall = take(line, "wall ");
    const bool is_back = is_wall && take(line, "-");
    if (!is_back && !take(line, "+"))
      refuse(line_, "the clock moves by +N and a unit, the wall clock by -N too");
    const Duration by = parse_duration(line, line_);
    add(is_wall ? Step::Kind::kStepWall : Step::Kind::kAdvance, 'a').duration = is_back ? -by : by;
  }

  void parse_send(char connection, std::string_view text) {
    Unescaped sent = unescape(text, line_);
    Step& step = add(Step::Kind::kSend, connection);
    step.text = std::move(sent.text);
    if (!sent.ends_in_backslash) step.text += "\r\n";
    if (!sent.ends_in_backslash) whole_lines_.push_back(transcript_.steps.size() - 1);
  }

  void parse_expectation(char connection, std::string_view line) {
    if (line == ".") {
      add(Step::Kind::kExpectNothing, connection);
    } else if (line == "!") {
      add(Step::Kind::kExpectClosed, connection);
    } else if (take(line, "= ")) {
      if (line.size() != 1 || line[0] < 'A' || line[0] > 'Z') refuse(line_, "= needs a letter");
      add(Step::Kind::kExpectLine, connection).kept_as = line[0];
    } else if (line.starts_with('+') || line.starts_with('|')) {
      parse_body_line(connection, line);
    } else {
      bool announces_body = false;
      ExpectedLine expected = parse_expected(line, announces_body);
      auto kind = announces_body ? Step::Kind::kExpectBody : Step::Kind::kExpectLine;
      add(kind, connection).expected = std::move(expected);
    }
  }

  void parse_body_line(char connection, std::string_view line) {
    if (transcript_.steps.empty()) refuse(line_, "no body is open here");
    Step& body = transcript_.steps.back();
    if (body.kind != Step::Kind::kExpectBody || body.connection != connection) {
      refuse(line_, "no body is open here");
    }
    bool is_in_order = line.front() == '|';
    bool ends_in_star = false;
    line.remove_prefix(1);
    body.body.push_back(parse_expected(line, ends_in_star));
    if (ends_in_star) body.body.back().text += '*';
    body.body.back().is_in_order = is_in_order;
  }

  /// The star that announces a body is not part of the text.
  ExpectedLine parse_expected(std::string_view line, bool& announces_body) const {
    if (take(line, "~")) return {std::string{after_space(line, line_)}, true};
    Unescaped expected = unescape(after_space(line, line_), line_);
    announces_body = expected.ends_in_star;
    if (announces_body) expected.text.pop_back();
    return {std::move(expected.text)};
  }

  void parse_action(char connection, std::string_view action) {
    if (take(action, "option ")) {
      auto equals = action.find('=');
      if (equals == std::string_view::npos) refuse(line_, "an option is NAME=VALUE");
      transcript_.options[std::string{action.substr(0, equals)}] = action.substr(equals + 1);
      return;
    }
    static const std::map<std::string_view, Step::Kind> kActions = {
        {"open", Step::Kind::kOpen},
        {"close", Step::Kind::kClose},
        {"half-close", Step::Kind::kHalfClose},
        {"drain", Step::Kind::kDrain},
    };
    auto found = kActions.find(action);
    if (found == kActions.end()) refuse(line_, "unknown action");
    add(found->second, connection);
  }

  Step& add(Step::Kind kind, char connection) {
    Step& step = transcript_.steps.emplace_back();
    step.kind = kind;
    step.line = line_;
    step.connection = connection;
    return step;
  }

  [[nodiscard]] bool has_newline_lf() const {
    auto option = transcript_.options.find("newline");
    return option != transcript_.options.end() && option->second == "lf";
  }

  void use_lf() {
    for (std::size_t index : whole_lines_) {
      std::string& text = transcript_.steps[index].text;
      text.replace(text.size() - 2, 2, "\n");
    }
  }

  std::string_view text_;
  int line_ = 0;
  Transcript transcript_;
  std::vector<std::size_t> whole_lines_;  ///< the steps that end in CR LF
};

}  // namespace

bool Transcript::has(Step::Kind kind) const {
  return std::any_of(steps.begin(), steps.end(),
                     [kind](const Step& step) { return step.kind == kind; });
}

Transcript parse_transcript(std::string_view text) {
  return Parser{text}.parse();
}

Transcript read_transcript(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_transcript(text.str());
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char& byte : bytes) {
    if (byte == '\r') {
      text += "\\r";
    } else if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\\') {
      text += "\\\\";
    } else {
      text += byte >= ' ' && byte <= '~' ? std::string{byte} : "\\x" + hex_of({&byte, 1});
    }
  }
  return text;
}

}  // namespace millrace::test
