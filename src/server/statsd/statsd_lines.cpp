#include "server/statsd/statsd_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

enum class Part { kName, kTag };

/// A tag may have colons: `env:production` is one.
bool is_kept(char c, Part part) {
  constexpr std::string_view kEnds = "|#,@ ";
  if (kEnds.find(c) != std::string_view::npos) return false;
  return part == Part::kTag || c != ':';
}

void append(std::string_view text, Part part, std::size_t max, std::string& out) {
  each_character(cut(text, max), [&](const Character& character) {
    const bool is_shown = is_harmless(character) && is_kept(character.bytes.front(), part);
    out += is_shown ? character.bytes : "_";
    return true;
  });
}

/// Whole numbers without a point, others with three digits after it.
void append_number(double value, std::string& out) {
  std::array<char, 400> digits;
  const bool is_whole = std::floor(value) == value;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                          std::chars_format::fixed, is_whole ? 0 : 3);
  CHECK(error == std::errc{});
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace

StatsdLines::StatsdLines(const StatsdOptions& options) : lines_max_(options.buffer_size) {
  append(options.name_space, Part::kName, kStatsdNamespaceBytesMax, prefix_);
  for (const std::string& tag : options.tags) {
    if (tag.empty()) continue;
    if (!tags_.empty()) tags_ += ',';
    append(tag, Part::kTag, kStatsdTagBytesMax, tags_);
  }
}

void StatsdLines::count(std::string_view name, std::uint64_t value, const Tags& tags) {
  add(name, static_cast<double>(value), "c", tags);
}

void StatsdLines::gauge(std::string_view name, double value, const Tags& tags) {
  // A sign would make it a change of the gauge.
  add(name, std::max(value, 0.0), "g", tags);
}

void StatsdLines::milliseconds(std::string_view name, double value, const Tags& tags) {
  add(name, std::max(value, 0.0), "ms", tags);
}

void StatsdLines::add(std::string_view name, double value, std::string_view kind,
                      const Tags& tags) {
  line_ = prefix_;
  append(name, Part::kName, kStatsdPartBytesMax, line_);
  line_ += ':';
  append_number(value, line_);
  line_ += '|';
  line_ += kind;
  std::string_view before = "|#";
  if (!tags_.empty()) {
    line_ += before;
    line_ += tags_;
    before = ",";
  }
  for (const StatsdTag& tag : tags) {
    if (tag.value.empty()) continue;
    line_ += before;
    line_ += tag.key;
    line_ += ':';
    append(tag.value, Part::kTag, kStatsdPartBytesMax, line_);
    before = ",";
  }
  CHECK(line_.size() <= kStatsdDatagramBytesMax);
  const bool has_room = !datagrams_.empty() && lines_ < lines_max_ &&
                        datagrams_.back().size() + 1 + line_.size() <= kStatsdDatagramBytesMax;
  if (has_room) {
    datagrams_.back() += '\n';
    datagrams_.back() += line_;
    ++lines_;
  } else {
    datagrams_.push_back(line_);
    lines_ = 1;
  }
}

std::vector<std::string> StatsdLines::take() {
  return std::exchange(datagrams_, {});
}

}  // namespace millrace::server
