#include "faktory/session/line_buffer.hpp"

#include <string>
#include <vector>

#include "faktory/session/command.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr std::size_t kLimit = 10;

/// The next line's text; `-` when there is none, `!` when it was too long.
std::string take(LineBuffer& lines) {
  const std::optional<LineBuffer::Line> line = lines.next();
  if (!line) return "-";
  return line->is_too_long() ? "!" : std::string(line->text);
}

std::string report_of(std::string_view line, std::size_t piece) {
  LongReport report;
  for (std::size_t at = 0; at < line.size(); at += piece) report.add(line.substr(at, piece));
  CHECK(report.bytes() == line.size());
  return report.finish();
}

Fail fail_of(const std::string& line) {
  const Result<Command, Refused> command = parse_command(line);
  REQUIRE(command);
  return std::get<Fail>(*command);
}

}  // namespace

TEST_CASE("lines end in LF or CR LF") {
  LineBuffer lines(kLimit);
  lines.add("ab\ncd\r\nef");
  CHECK(take(lines) == "ab");
  CHECK(take(lines) == "cd");
  CHECK(take(lines) == "-");
}

TEST_CASE("lines: only the CR before the LF belongs to the end") {
  LineBuffer lines(kLimit);
  lines.add("a\rb\r\r\n\n");
  CHECK(take(lines) == "a\rb\r");
  CHECK(take(lines).empty());
}

TEST_CASE("lines come in pieces") {
  LineBuffer lines(kLimit);
  lines.add("ab");
  CHECK(take(lines) == "-");
  lines.compact();
  lines.add("cd\r");
  CHECK(take(lines) == "-");
  lines.add("\nx");
  CHECK(take(lines) == "abcd");
  lines.compact();
  CHECK(lines.kept_bytes() == 1);
}

TEST_CASE("a line at the limit is taken, with either end") {
  LineBuffer lines(kLimit);
  lines.add("0123456789\n0123456789\r\n");
  CHECK(take(lines) == "0123456789");
  CHECK(take(lines) == "0123456789");
}

TEST_CASE("a line one past the limit is not, and the next one is") {
  LineBuffer lines(kLimit);
  lines.add("0123456789a\r\nb\n");
  CHECK(take(lines) == "!");
  CHECK(take(lines) == "b");
}

TEST_CASE("a line at the limit that comes byte by byte") {
  LineBuffer lines(kLimit);
  for (const char c : std::string("0123456789\r")) {
    lines.add({&c, 1});
    CHECK(take(lines) == "-");
  }
  lines.add("\n");
  CHECK(take(lines) == "0123456789");
}

TEST_CASE("a line that is too long is dropped while it comes") {
  LineBuffer lines(kLimit);
  lines.add("0123456789ab");
  CHECK(take(lines) == "-");
  lines.compact();
  CHECK(lines.kept_bytes() == 0);
  lines.add(std::string(1000, 'x'));
  CHECK(lines.kept_bytes() == 0);
  CHECK_FALSE(lines.may_have_line());
  lines.add("x\nnext\n");
  CHECK(take(lines) == "!");
  CHECK(take(lines) == "next");
}

TEST_CASE("a line that is not short has a limit of its own") {
  LineBuffer lines(kLimit);
  lines.set_limits(kLimit, 4, [](std::string_view line) {
    return LineBuffer::Limit{.bytes_max = line.starts_with('a') ? std::size_t{6} : 100};
  });
  lines.add("aaaaaa\naaaaaaa\nbbbbbbbbbb\nbbbbbbbbbbb\n");
  CHECK(take(lines) == "aaaaaa");
  CHECK(lines.next()->exceeded_bytes_max == 6);
  CHECK(take(lines) == "bbbbbbbbbb");
  CHECK(lines.next()->exceeded_bytes_max == kLimit);
}

TEST_CASE("a line past a limit of its own is dropped while it comes") {
  LineBuffer lines(1000);
  lines.set_limits(1000, 4, [](std::string_view) { return LineBuffer::Limit{.bytes_max = 6}; });
  lines.add("aaaaaaaa");
  CHECK(take(lines) == "-");
  lines.compact();
  CHECK(lines.kept_bytes() == 0);
  lines.add("\n");
  CHECK(lines.next()->exceeded_bytes_max == 6);
}

TEST_CASE("a long line of any length is kept in pieces") {
  constexpr std::size_t kMost = kLongLineBytes + 10;
  const auto any_length = [](std::string_view) { return LineBuffer::Limit{.bytes_max = SIZE_MAX}; };
  const auto long_line = [](LineBuffer& lines) {
    const std::optional<LineBuffer::Line> line = lines.next();
    REQUIRE(line);
    REQUIRE(line->pieces != nullptr);
    std::string text;
    line->pieces->copy(0, line->pieces->size(), text);
    return text;
  };
  for (const std::size_t piece : {1'000UL, kMost / 2, 2 * kMost}) {
    LineBuffer lines(kMost);
    lines.set_limits(kMost, 4, any_length);
    std::string text = "a\n";
    const std::string least(kLongLineBytes + 1, 'x');
    const std::string most(kMost, 'x');
    for (const std::string& line : {least, most + '\r', most + 'x', std::string("b")}) {
      text += line + '\n';
    }
    std::vector<std::string> found;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      lines.add(std::string_view(text).substr(at, piece));
      while (lines.may_have_line()) {
        const std::optional<LineBuffer::Line> line = lines.next();
        if (!line) break;
        std::string& one = found.emplace_back(line->text);
        if (line->is_too_long()) one = "too long";
        if (line->pieces != nullptr) line->pieces->copy(0, line->pieces->size(), one);
      }
      lines.compact();
      CHECK(lines.kept_bytes() <= kMost + 2 * piece);
    }
    CHECK(found == std::vector<std::string>{"a", least, most, "too long", "b"});
    CHECK(lines.kept_bytes() == 0);
  }
  LineBuffer lines(kMost);
  lines.set_limits(kMost, 4, any_length);
  lines.add(std::string(kLongLineBytes + 1, 'x'));
  CHECK(take(lines) == "-");
  CHECK_FALSE(lines.may_have_line());
  lines.add("y\nb\n");
  CHECK(lines.kept_bytes() == kLongLineBytes + 4);
  CHECK(long_line(lines).ends_with("xy"));
  CHECK(take(lines) == "b");
}

TEST_CASE("a long report is kept in short, wherever it is cut") {
  const auto report = [](std::string_view) {
    return LineBuffer::Limit{.bytes_max = kReportBytesMax, .is_report = true};
  };
  const std::string line =
      R"(FAIL {"x":[{"y":1}],"message":"\u00e9)" + std::string(30, 'm') + R"(","jid":"j"})";
  const std::string text = "a\n" + line + "\r\nb\n" + line + "\nc\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LineBuffer lines(kLimit);
    lines.set_limits(kLimit, 8, report);
    std::vector<std::string> found;
    for (const std::string& part : {text.substr(0, cut), text.substr(cut)}) {
      lines.add(part);
      while (const std::optional<LineBuffer::Line> next = lines.next()) {
        found.emplace_back(next->is_too_long() ? "!" : next->text);
      }
      lines.compact();
    }
    const std::string kept =
        R"(FAIL {"message":"\u00e9)" + std::string(30, 'm') + R"(","jid":"j"})";
    CAPTURE(cut);
    CHECK(found == std::vector<std::string>{"a", kept, "b", kept, "c"});
    CHECK(lines.kept_bytes() == 0);
  }
}

TEST_CASE("a report at its limit is read, and one past it is dropped") {
  for (const std::size_t more : {0, 1}) {
    LineBuffer lines(kLimit);
    lines.set_limits(kLimit, 8, [](std::string_view) {
      return LineBuffer::Limit{.bytes_max = kReportBytesMax, .is_report = true};
    });
    lines.add(R"(FAIL {"jid":"j"})");
    CHECK(take(lines) == "-");
    const std::string spaces(1024 * 1024, ' ');
    for (std::size_t i = 1; i < kReportBytesMax / spaces.size(); ++i) lines.add(spaces);
    lines.add(spaces.substr(16) + std::string(more, ' '));
    CHECK(lines.kept_bytes() < 100);
    lines.add("\nnext\n");
    CHECK(take(lines) == (more == 0 ? R"(FAIL {"jid":"j"})" : "!"));
    CHECK(take(lines) == "next");
  }
}

TEST_CASE("a line that never ends is told from one that is too long") {
  LineBuffer lines(kLimit);
  lines.add(std::string(100, 'x'));
  CHECK(take(lines) == "-");
  const std::string more(1024 * 1024, 'x');
  for (std::size_t i = 0; i < kDroppedBytesMax / more.size(); ++i) lines.add(more);
  CHECK_FALSE(lines.may_have_line());
  lines.add("x");
  CHECK(lines.may_have_line());
  const std::optional<LineBuffer::Line> line = lines.next();
  REQUIRE(line);
  CHECK(line->is_endless);
  CHECK(line->exceeded_bytes_max == kLimit);
}

TEST_CASE("may_have_line: false once everything was looked at") {
  LineBuffer lines(kLimit);
  CHECK_FALSE(lines.may_have_line());
  lines.add("a");
  CHECK(lines.may_have_line());
  CHECK(take(lines) == "-");
  CHECK_FALSE(lines.may_have_line());
}

TEST_CASE("long reports: of a FAIL its members and the beginning of its texts are kept") {
  const std::string text(5'000'000, 'x');
  const std::string line = R"(FAIL {"sql":")" + text + R"(","backtrace":[")" + text + R"(","b"],)" +
                           R"("message":" )" + text + R"(","errtype":"E","jid":"job-00001"})";
  const std::string report = report_of(line, 10'007);
  CHECK(report.size() < 30'000);
  const Fail fail = fail_of(report);
  CHECK(fail.jid == "job-00001");
  CHECK(fail.run.errtype == "E");
  CHECK(fail.run.message.starts_with(" xxx"));
  CHECK(fail.run.backtrace.size() == 2);
  CHECK(fail.run.backtrace[1] == "b");
}

TEST_CASE("long reports: of a long backtrace the first entries are kept") {
  std::string line = R"(FAIL {"jid":"job-00001","backtrace":["line 0")";
  for (int i = 1; i < 100'000; ++i) line += ",\"line " + std::to_string(i) + '"';
  const Fail fail = fail_of(report_of(line + "]}\r", 65'536));
  REQUIRE(fail.run.backtrace.size() == 50);
  CHECK(fail.run.backtrace.back() == "line 49");
}

TEST_CASE("long reports: what is no JSON is refused, and says why") {
  const std::string broken = R"(FAIL {"jid":"job-00001","message":")" + std::string(100'000, 'x');
  CHECK(report_of(broken, 1'000) == "FAIL unexpected end of JSON input");
  CHECK(report_of(R"(FAIL {"jid":"job-00001"} and more)", 100) ==
        "FAIL invalid character after top-level value");
}

TEST_CASE("long reports: all that a worker reports of its jobs") {
  CHECK(report_of(R"(ACK {"jid":"a","result":{"rows":[1,2]}})", 20) == R"(ACK {"jid":"a"})");
  CHECK(report_of(R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet","x":1})", 20) ==
        R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet"})");
  CHECK(report_of(R"(TRACK SET {"jid":"a","percent":1.5,"desc":"d","reserve_until":"","y":2})",
                  20) == R"(TRACK SET {"jid":"a","percent":1.5,"desc":"d","reserve_until":""})");
}

}  // namespace millrace::faktory
