#include "faktory/session/line_buffer.hpp"

#include <string>
#include <utility>
#include <vector>

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
    return std::move(*line->pieces).join();
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
        if (line->pieces != nullptr) one = std::move(*line->pieces).join();
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

TEST_CASE("a report at its limit is kept, and one past it is dropped") {
  for (const std::size_t more : {0, 1}) {
    LineBuffer lines(kLimit);
    lines.set_limits(kLimit, 8, [](std::string_view) {
      return LineBuffer::Limit{.bytes_max = kReportBytesMax, .is_report = true};
    });
    const std::string some(1024 * 1024, 'x');
    for (std::size_t i = 1; i < kReportBytesMax / some.size(); ++i) {
      lines.add(some);
      CHECK(take(lines) == "-");
    }
    lines.add(some + std::string(more, 'x') + "\r");
    CHECK(lines.kept_bytes() == (more == 0 ? kReportBytesMax + 1 : 0));
    lines.add("\nnext\n");
    const std::optional<LineBuffer::Line> line = lines.next();
    REQUIRE(line);
    CHECK(line->exceeded_bytes_max == (more == 0 ? 0 : kReportBytesMax));
    if (more == 0) CHECK(line->pieces->size() == kReportBytesMax);
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

}  // namespace millrace::faktory
