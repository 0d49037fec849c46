#include "faktory/job/glob.hpp"

#include <algorithm>
#include <utility>

namespace millrace::faktory {
namespace {

constexpr std::size_t kByteValues = 256;
constexpr std::size_t kWordBits = 64;

/// Where nothing has begun to fit, a search for one byte value passes over the text. How many bytes
/// it passes in a step.
constexpr std::size_t kSkippedBytesPerStep = 16;

/// Takes a class off the front, whose `[` was taken, and says whether the byte is in it.
bool take_class(std::string_view& pattern, char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool is_negated = pattern.starts_with('^');
  if (is_negated) pattern.remove_prefix(1);
  bool is_in = false;
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() >= 2) pattern.remove_prefix(1);
    auto low = static_cast<unsigned char>(pattern.front());
    auto high = low;
    pattern.remove_prefix(1);
    if (pattern.size() >= 2 && pattern.front() == '-' && pattern[1] != ']') {
      high = static_cast<unsigned char>(pattern[1]);
      pattern.remove_prefix(2);
      // `[c-a]` is `[a-c]`, as in Redis.
      if (low > high) std::swap(low, high);
    }
    is_in = is_in || (low <= byte && byte <= high);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return is_in != is_negated;
}

/// Takes the pattern of one byte off the front, and says whether this byte fits.
bool take_one(std::string_view& pattern, char c) {
  const char first = pattern.front();
  pattern.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') return take_class(pattern, c);
  if (first != '\\' || pattern.empty()) return first == c;
  const char escaped = pattern.front();
  pattern.remove_prefix(1);
  return escaped == c;
}

}  // namespace

// ---- the pattern --------------------------------------------------------------------------------

Glob::Glob(std::string_view pattern)
    : is_start_fixed_(!pattern.starts_with('*')),
      words_((pattern.size() + kWordBits - 1) / kWordBits),
      fits_(kByteValues * words_) {
  is_end_fixed_ = true;
  Segment segment;
  while (!pattern.empty()) {
    is_end_fixed_ = pattern.front() != '*';
    if (is_end_fixed_) {
      add_place(segment, pattern);
      continue;
    }
    pattern.remove_prefix(1);
    if (segment.begin < segment.end) segments_.push_back(segment);
    segment = {.begin = segment.end, .end = segment.end};
  }
  if (segment.begin < segment.end) segments_.push_back(segment);
  restart();
}

/// Takes one place off the front of the pattern.
void Glob::add_place(Segment& segment, std::string_view& pattern) {
  const std::size_t place = segment.end++;
  std::size_t fit_count = 0;
  char last_fit = 0;
  std::string_view rest;
  // A table of all byte values: matching then is one look and one shift for 64 places.
  for (std::size_t value = 0; value < kByteValues; ++value) {
    rest = pattern;
    const char byte = static_cast<char>(value);
    if (!take_one(rest, byte)) continue;
    fits_[value * words_ + place / kWordBits] |= std::uint64_t{1} << place % kWordBits;
    ++fit_count;
    last_fit = byte;
  }
  pattern = rest;
  // Lets `skip` search for that byte, which the library does many bytes at a time.
  if (place == segment.begin && fit_count == 1) segment.first_byte = last_fit;
}

// ---- a text -------------------------------------------------------------------------------------

void Glob::restart() {
  verdict_.reset();
  is_at_start_ = true;
  segment_ = 0;
  has_reached_ = false;
  reached_.assign(words_, 0);
  // Nothing but stars: everything matches.
  if (segments_.empty() && !is_start_fixed_) verdict_ = true;
}

std::size_t Glob::read(std::string_view bytes, Steps& steps) {
  std::size_t count = 0;
  while (count < bytes.size() && !verdict_ && !steps.are_used_up()) {
    const std::size_t skipped = skip(bytes.substr(count), steps);
    count += skipped;
    if (skipped > 0) continue;
    step(bytes[count++]);
    steps.use_up(steps_per_byte());
  }
  return count;
}

/// How many bytes can be passed over: they cannot begin the segment, and no part of it has begun.
std::size_t Glob::skip(std::string_view bytes, Steps& steps) const {
  // A fixed beginning must fit here: there is nothing to skip.
  if (has_reached_ || segments_.empty() || is_fixed()) return 0;
  const std::optional<char> first_byte = segments_[segment_].first_byte;
  if (!first_byte) return 0;
  bytes = bytes.substr(0, steps.left() * kSkippedBytesPerStep);
  const std::size_t skipped = std::min(bytes.find(*first_byte), bytes.size());
  steps.use_up((skipped + kSkippedBytesPerStep - 1) / kSkippedBytesPerStep);
  return skipped;
}

void Glob::step(char byte) {
  const bool may_begin = !is_fixed() || is_at_start_;
  is_at_start_ = false;
  if (segments_.empty()) {
    verdict_ = false;
    return;
  }
  const Segment& segment = segments_[segment_];
  const std::uint64_t* const fits = &fits_[static_cast<unsigned char>(byte) * words_];
  std::size_t word = segment.begin / kWordBits;
  std::uint64_t entering = std::uint64_t{may_begin} << segment.begin % kWordBits;
  std::uint64_t any = 0;
  for (; word <= (segment.end - 1) / kWordBits; ++word) {
    // The bit that moves from one word to the next.
    const std::uint64_t leaving = reached_[word] >> (kWordBits - 1);
    reached_[word] = ((reached_[word] << 1) | entering) & fits[word];
    any |= reached_[word];
    entering = leaving;
  }
  has_reached_ = any != 0;
  if (is_fixed() && !has_reached_) verdict_ = false;
  if (is_last_reached()) pass_segment();
}

/// True when the segment's last place fits, and with it the whole segment.
bool Glob::is_last_reached() const {
  const std::size_t last = segments_[segment_].end - 1;
  return (reached_[last / kWordBits] >> last % kWordBits & 1) != 0;
}

void Glob::pass_segment() {
  const bool is_last = segment_ + 1 == segments_.size();
  // It must fit at the end of the text, which may come later: so it is looked for again.
  if (is_last && is_end_fixed_) return;
  if (is_last) {
    verdict_ = true;
    return;
  }
  ++segment_;
  has_reached_ = false;
  std::fill(reached_.begin(), reached_.end(), 0);
}

bool Glob::matches() const {
  if (verdict_) return *verdict_;
  // The empty pattern fits the empty text only.
  if (segments_.empty()) return is_at_start_;
  return segment_ + 1 == segments_.size() && is_last_reached();
}

std::string glob_of_text(std::string_view text) {
  constexpr std::string_view kSpecial = "*?[\\";
  std::string pattern;
  for (const char byte : text) {
    if (kSpecial.find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern;
}

}  // namespace millrace::faktory
