#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 takes the inside of std::regex for uninitialized once it is compiled for the sanitizers.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <set>

#include "support/transcript.hpp"

namespace millrace::test {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string describe(const ExpectedLine& expected) {
  return (expected.is_regex ? "a line like " : "") + printable(expected.text);
}

bool matches(const ExpectedLine& expected, const std::string& line) {
  if (!expected.is_regex) return line == expected.text;
  return std::regex_search(line, std::regex{expected.text});
}

std::vector<std::string> split_lines(std::string_view body) {
  std::vector<std::string> lines;
  while (!body.empty()) {
    auto end = std::min(body.find('\n'), body.size());
    lines.emplace_back(body.substr(0, end));
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return lines;
}

/// The size that a line such as `OK 12` announces after `prefix`.
std::optional<std::size_t> announced_size(const std::string& line, const std::string& prefix) {
  std::size_t size = 0;
  if (!line.starts_with(prefix)) return std::nullopt;
  const char* end = line.data() + line.size();
  auto [rest, error] = std::from_chars(line.data() + prefix.size(), end, size);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return size;
}

class Player {
 public:
  Player(const Transcript& transcript, Driver& driver, std::size_t cut)
      : transcript_(transcript), driver_(driver), cut_(cut) {}

  std::optional<Mismatch> play() {
    for (const Step& step : transcript_.steps) {
      if (auto mismatch = perform(step)) return mismatch;
    }
    flush();
    for (char connection : opened_) {
      if (closed_by_client_.contains(connection)) continue;
      if (auto mismatch = expect_nothing(last_line() + 1, connection)) return mismatch;
    }
    return std::nullopt;
  }

 private:
  std::optional<Mismatch> perform(const Step& step) {
    if (step.kind != Step::Kind::kSend || step.connection != unsent_for_) flush();
    if (touches_connection(step.kind) && opened_.insert(step.connection).second) {
      driver_.open(step.connection);
    }
    switch (step.kind) {
      case Step::Kind::kSend:
        unsent_for_ = step.connection;
        unsent_ += with_kept(step.text);
        break;
      case Step::Kind::kExpectLine:
        return expect_line(step);
      case Step::Kind::kExpectBody:
        return expect_body(step);
      case Step::Kind::kExpectNothing:
        return expect_nothing(step.line, step.connection);
      case Step::Kind::kExpectClosed:
        return expect_closed(step);
      case Step::Kind::kOpen:
        break;
      case Step::Kind::kClose:
        closed_by_client_.insert(step.connection);
        driver_.close(step.connection);
        break;
      case Step::Kind::kHalfClose:
        driver_.half_close(step.connection);
        break;
      case Step::Kind::kAdvance:
        driver_.advance(step.duration);
        break;
      case Step::Kind::kStepWall:
        driver_.step_wall(step.duration);
        break;
      case Step::Kind::kDrain:
        driver_.drain();
        break;
    }
    return std::nullopt;
  }

  static bool touches_connection(Step::Kind kind) {
    return kind != Step::Kind::kAdvance && kind != Step::Kind::kStepWall &&
           kind != Step::Kind::kDrain;
  }

  /// The text with the lines that were kept in the place of their letters.
  [[nodiscard]] std::string with_kept(const std::string& text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto kept =
          text[i] == '$' && i + 1 < text.size() ? kept_.find(text[i + 1]) : kept_.end();
      result += kept == kept_.end() ? text.substr(i, 1) : kept->second;
      if (kept != kept_.end()) ++i;
    }
    return result;
  }

  /// Sends adjacent lines together, cut into pieces.
  void flush() {
    std::string_view rest = unsent_;
    while (!rest.empty()) {
      std::string_view piece = cut_ == 0 ? rest : rest.substr(0, cut_);
      driver_.send(unsent_for_, piece);
      rest.remove_prefix(piece.size());
    }
    unsent_.clear();
  }

  /// True when at least `size` bytes are there.
  bool wait_for(char connection, std::size_t size) {
    std::string& received = received_[connection];
    while (received.size() < size) {
      std::string more = driver_.receive(connection, Driver::Patience::kUntilSome);
      if (more.empty()) return false;
      received += more;
    }
    return true;
  }

  std::optional<std::string> read_line(char connection) {
    std::string& received = received_[connection];
    auto end = received.find(kLineEnd);
    while (end == std::string::npos) {
      if (!wait_for(connection, received.size() + 1)) return std::nullopt;
      end = received.find(kLineEnd);
    }
    std::string line = received.substr(0, end);
    received.erase(0, end + kLineEnd.size());
    return line;
  }

  /// The body, whose line end is taken too.
  std::optional<std::string> read_body(char connection, std::size_t size) {
    if (!wait_for(connection, size + kLineEnd.size())) return std::nullopt;
    std::string& received = received_[connection];
    if (received.compare(size, kLineEnd.size(), kLineEnd) != 0) return std::nullopt;
    std::string body = received.substr(0, size);
    received.erase(0, size + kLineEnd.size());
    return body;
  }

  std::optional<Mismatch> expect_line(const Step& step) {
    auto line = read_line(step.connection);
    if (line && step.kept_as != 0) {
      kept_[step.kept_as] = *line;
      return std::nullopt;
    }
    ExpectedLine expected = step.expected;
    expected.text = with_kept(expected.text);
    if (line && step.kept_as == 0 && matches(expected, *line)) return std::nullopt;
    return mismatch(step, describe(expected), line);
  }

  std::optional<Mismatch> expect_body(const Step& step) {
    auto line = read_line(step.connection);
    auto size = line ? announced_size(*line, step.expected.text) : std::nullopt;
    if (!size) return mismatch(step, describe(step.expected) + " and the size of a body", line);
    auto body = read_body(step.connection, *size);
    if (!body) return mismatch(step, "a body of " + std::to_string(*size) + " bytes", body);
    return check_body(step, *body);
  }

  std::optional<Mismatch> check_body(const Step& step, const std::string& body) {
    std::vector<std::string> lines = split_lines(body);
    std::size_t next = 0;
    for (const ExpectedLine& expected : step.body) {
      auto fits = [&expected](const std::string& line) { return matches(expected, line); };
      bool found = expected.is_in_order ? next < lines.size() && fits(lines[next++])
                                        : std::any_of(lines.begin(), lines.end(), fits);
      if (!found) return mismatch(step, "in the body: " + describe(expected), body);
    }
    if (next == 0 || next == lines.size()) return std::nullopt;
    return mismatch(step, "a body of " + std::to_string(next) + " lines", body);
  }

  std::optional<Mismatch> expect_nothing(int line, char connection) {
    std::string& received = received_[connection];
    received += driver_.receive(connection, Driver::Patience::kBriefly);
    if (received.empty()) return std::nullopt;
    return Mismatch{line, name(connection) + "nothing more", printable(received)};
  }

  std::optional<Mismatch> expect_closed(const Step& step) {
    bool is_closed = driver_.is_closed(step.connection);
    if (auto mismatch = expect_nothing(step.line, step.connection)) return mismatch;
    if (is_closed) return std::nullopt;
    return Mismatch{step.line, name(step.connection) + "closed", "still open"};
  }

  Mismatch mismatch(const Step& step, const std::string& expected,
                    const std::optional<std::string>& got) {
    const std::string& rest = received_[step.connection];
    std::string shown = got ? printable(*got) : "nothing complete";
    if (!rest.empty()) shown += ", then " + printable(rest);
    return {step.line, name(step.connection) + expected, shown};
  }

  static std::string name(char connection) { return std::string{connection} + ": "; }
  [[nodiscard]] int last_line() const {
    return transcript_.steps.empty() ? 0 : transcript_.steps.back().line;
  }

  const Transcript& transcript_;
  Driver& driver_;
  std::size_t cut_;
  std::set<char> opened_;
  std::set<char> closed_by_client_;
  std::map<char, std::string> received_;
  std::map<char, std::string> kept_;
  char unsent_for_ = 'a';
  std::string unsent_;
};

}  // namespace

std::optional<Mismatch> play(const Transcript& transcript, Driver& driver, std::size_t cut) {
  return Player{transcript, driver, cut}.play();
}

}  // namespace millrace::test
