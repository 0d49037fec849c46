#include "faktory/json/minifier.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

constexpr std::ptrdiff_t kUnicodeBytes = 6;  // \uXXXX
constexpr std::ptrdiff_t kWideBytesMax = 4;

/// Of a text in pieces, so much of the next one is enough to judge what was left of the last.
constexpr std::size_t kLookahead = 16;
static_assert(kLookahead > 2 * kUnicodeBytes);

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// In a string, a byte that stands for itself.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

bool is_plain(char c) {
  return kIsPlain[static_cast<unsigned char>(c)];
}

/// The code of the \u escape at `at`; nullopt: there is none.
std::optional<unsigned> code_at(const char* at, const char* end) {
  if (end - at < kUnicodeBytes || at[0] != '\\' || at[1] != 'u') return std::nullopt;
  unsigned code = 0;
  const auto [last, error] = std::from_chars(at + 2, at + kUnicodeBytes, code, 16);
  if (error != std::errc{} || last != at + kUnicodeBytes) return std::nullopt;
  return code;
}

bool is_high_surrogate(unsigned code) {
  return code >= 0xD800 && code <= 0xDBFF;
}
bool is_low_surrogate(unsigned code) {
  return code >= 0xDC00 && code <= 0xDFFF;
}

}  // namespace

// ---- pieces -------------------------------------------------------------------------------------

Outcome<Done> Minifier::add(std::string_view json) {
  if (!held_.empty()) {
    const std::size_t held = held_.size();
    held_ += json.substr(0, kLookahead);
    const std::size_t taken = take(held_, false);
    if (taken < held) {
      json = {};  // It was too short, and all of it is held now.
    } else {
      json.remove_prefix(taken - held);
    }
    held_.erase(0, taken < held ? taken : held_.size());
  }
  if (problem_.empty() && held_.empty()) {
    const std::size_t taken = take(json, false);
    held_ = json.substr(taken);
  }
  if (!problem_.empty()) return Problem{problem_};
  return Done{};
}

Outcome<Done> Minifier::finish() {
  const std::string held = std::exchange(held_, {});
  (void)take(held, true);
  if (problem_.empty() && state_ != State::kEnd) problem_ = "unexpected end of JSON input";
  if (!problem_.empty()) return Problem{problem_};
  return Done{};
}

std::size_t Minifier::take(std::string_view text, bool is_last) {
  const char* at = text.data();
  const char* const end = at + text.size();
  unwritten_ = at;
  is_waiting_ = false;
  while (at != end && !is_waiting_) {
    const char* next = nullptr;
    if (state_ == State::kString) {
      next = take_string(at, end, is_last);
    } else if (state_ == State::kNumber) {
      next = take_number(at, end);
    } else if (state_ == State::kLiteral) {
      next = take_literal(at, end);
    } else {
      next = take_one(at, end);
    }
    if (next == nullptr) return text.size();
    at = next;
  }
  skip(at, at);
  if (extract_ != nullptr && out_.size() > extract_->bytes_max) problem_ = "too much of it";
  return static_cast<std::size_t>(at - text.data());
}

/// How long the output is when it is written up to there.
std::size_t Minifier::written(const char* at) const {
  return out_.size() + static_cast<std::size_t>(at - unwritten_);
}

void Minifier::replace(const char* begin, const char* end, std::string_view text) {
  skip(begin, end);
  if (!is_muted()) out_.append(text);
}

void Minifier::skip(const char* begin, const char* end) {
  if (!is_muted()) out_.append({unwritten_, static_cast<std::size_t>(begin - unwritten_)});
  unwritten_ = end;
}

const char* Minifier::refuse(std::string_view why) {
  problem_ = why;
  return nullptr;
}

// ---- between values -----------------------------------------------------------------------------

const char* Minifier::take_one(const char* at, const char* end) {
  if (is_space(*at)) {
    const char* const begin = at;
    at = std::find_if_not(at, end, is_space);
    skip(begin, at);
    return at;
  }
  switch (state_) {
    case State::kFirstElement:
      return *at == ']' ? close(at) : begin_value(at);
    case State::kValue:
      return begin_value(at);
    case State::kFirstName:
      return *at == '}' ? close(at) : begin_name(at);
    case State::kName:
      return begin_name(at);
    case State::kColon:
      if (*at != ':') return refuse("a member without a colon");
      state_ = State::kValue;
      return at + 1;
    case State::kNext:
      if (*at != ',') return close(at);
      state_ = is_object_[nested_] ? State::kName : State::kValue;
      if (extract_ != nullptr && !is_muted()) pass_comma(at);
      return at + 1;
    default:
      return refuse("invalid character after top-level value");
  }
}

/// A job, or the array of them.
const char* Minifier::begin_root(const char* at) {
  const bool is_array = root_ == Root::kJobs && nested_ == 0;
  if (*at == (is_array ? '[' : '{')) return open(at, !is_array);
  if (*at != 'n') return refuse(is_array ? "jobs must be an array" : "a job must be an object");
  literal_ = "null";
  literal_at_ = 0;
  state_ = State::kLiteral;
  return at;
}

const char* Minifier::begin_name(const char* at) {
  if (*at != '"') return refuse("a member without a name");
  if (is_job_member()) {
    if (extract_ != nullptr) members_.clear();
    if (members_.size() == kMembersMax) return refuse(too_many_members().text);
    members_.push_back({.name_begin = written(at)});
  }
  string_begin_ = written(at);
  is_name_ = true;
  state_ = State::kString;
  return at + 1;
}

const char* Minifier::begin_value(const char* at) {
  if (nested_ < job_level()) return begin_root(at);
  const std::size_t nesting_max = extract_ == nullptr ? kNestingMax : kExtractNestingMax;
  if (depth() >= nesting_max) {
    return refuse("nested deeper than " + std::to_string(nesting_max) + " levels");
  }
  if (is_job_member()) members_.back().begin = written(at);
  string_begin_ = written(at);
  switch (*at) {
    case '{':
      return open(at, true);
    case '[':
      return open(at, false);
    case '"':
      is_name_ = false;
      state_ = State::kString;
      return at + 1;
    case 't':
    case 'f':
    case 'n':
      literal_ = *at == 't' ? "true" : *at == 'f' ? "false" : "null";
      literal_at_ = 0;
      state_ = State::kLiteral;
      return at;
    default:
      if (*at != '-' && !is_digit(*at)) return refuse("a value was expected");
      part_ = *at == '-' ? Part::kMinus : *at == '0' ? Part::kZero : Part::kWhole;
      state_ = State::kNumber;
      return at + 1;
  }
}

const char* Minifier::open(const char* at, bool is_object) {
  ++nested_;
  is_object_[nested_] = is_object;
  state_ = is_object ? State::kFirstName : State::kFirstElement;
  if (is_job_member()) members_.clear();
  if (extract_ == nullptr || is_muted() || is_job_member()) return at + 1;
  // Only the entries of a member that is a list are wanted, and nothing inside of those.
  if (is_object || nested_ > job_level() + 1) {
    mute_content(at + 1);
  } else {
    entry_count_ = 1;
  }
  return at + 1;
}

const char* Minifier::close(const char* at) {
  if (*at != (is_object_[nested_] ? '}' : ']')) return refuse("a comma or a bracket was expected");
  if (muted_ == Muted::kContent && nested_ == muted_in_) unmute(at);
  --nested_;
  end_value(at + 1);
  return at + 1;
}

void Minifier::end_value(const char* end) {
  if (is_job_member()) {
    members_.back().end = written(end);
    if (muted_ == Muted::kMember) unmute(end);
  }
  state_ = nested_ == 0 ? State::kEnd : State::kNext;
}

// ---- values -------------------------------------------------------------------------------------

const char* Minifier::take_literal(const char* at, const char* end) {
  while (at != end && literal_at_ < literal_.size()) {
    if (*at++ != literal_[literal_at_++]) return refuse("an invalid literal");
  }
  if (literal_at_ == literal_.size()) end_value(at);
  return at;
}

const char* Minifier::take_number(const char* at, const char* end) {
  for (; at != end; ++at) {
    const bool is_whole = part_ == Part::kZero || part_ == Part::kWhole;
    const bool is_complete = is_whole || part_ == Part::kFraction || part_ == Part::kExponent;
    if (is_digit(*at)) {
      if (part_ == Part::kZero) return refuse("an invalid number");
      if (part_ == Part::kMinus) part_ = *at == '0' ? Part::kZero : Part::kWhole;
      if (part_ == Part::kPoint) part_ = Part::kFraction;
      if (part_ == Part::kE || part_ == Part::kSign) part_ = Part::kExponent;
    } else if (*at == '.' && is_whole) {
      part_ = Part::kPoint;
    } else if ((*at == 'e' || *at == 'E') && (is_whole || part_ == Part::kFraction)) {
      part_ = Part::kE;
    } else if ((*at == '+' || *at == '-') && part_ == Part::kE) {
      part_ = Part::kSign;
    } else if (is_complete) {
      end_value(at);
      return at;
    } else {
      return refuse("an invalid number");
    }
  }
  return at;
}

const char* Minifier::take_string(const char* at, const char* end, bool is_last) {
  while (at != end) {
    const char* const run = at;
    at = std::find_if_not(at, end, is_plain);
    if (extract_ != nullptr && !is_muted()) cut_string(run, at);
    if (at == end) break;
    const std::ptrdiff_t left = end - at;
    if (*at == '"') {
      if (std::exchange(is_tail_, false)) unwritten_ = at;
      end_string(at + 1);
      return at + 1;
    }
    if (*at == '\\') {
      const bool is_short = left >= 2 && at[1] != 'u';
      if (!is_last && !is_short && left < 2 * kUnicodeBytes) break;
      at = take_escape(at, end);
    } else if (static_cast<unsigned char>(*at) >= 0x80) {
      if (!is_last && left < kWideBytesMax) break;
      at = take_wide(at, end);
    } else if (extract_ != nullptr) {
      replace(at, at + 1, kReplacement);
      ++at;
    } else {
      return refuse("a control character in a string");
    }
    if (at == nullptr) return nullptr;
  }
  is_waiting_ = at != end;
  return at;
}

const char* Minifier::take_escape(const char* at, const char* end) {
  if (end - at < 2) return refuse("unexpected end of JSON input");
  if (at[1] != 'u') {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    if (kShort.find(at[1]) == std::string_view::npos) return refuse("an invalid escape");
    return at + 2;
  }
  const std::optional<unsigned> code = code_at(at, end);
  if (!code) return refuse("an invalid escape");
  const char* const next = at + kUnicodeBytes;
  if (is_high_surrogate(*code)) {
    const std::optional<unsigned> low = code_at(next, end);
    if (low && is_low_surrogate(*low)) return next + kUnicodeBytes;
  } else if (!is_low_surrogate(*code)) {
    return next;
  }
  replace(at, next, kReplacementEscape);
  return next;
}

const char* Minifier::take_wide(const char* at, const char* end) {
  const std::size_t bytes = sequence_bytes({at, static_cast<std::size_t>(end - at)});
  if (bytes > 0) return at + bytes;
  replace(at, at + 1, kReplacement);
  return at + 1;
}

void Minifier::end_string(const char* end) {
  if (!is_name_) return end_value(end);
  if (is_job_member()) {
    members_.back().name_end = written(end);
    if (extract_ != nullptr) end_extracted_name(end);
  }
  state_ = State::kColon;
}

// ---- extracts -----------------------------------------------------------------------------------

/// A comma comes before the next member that is written, and none before an entry that is not.
void Minifier::pass_comma(const char* at) {
  if (is_job_member()) {
    skip(at, at + 1);
  } else if (++entry_count_ > extract_->entries_max) {
    mute_content(at);
  }
}

void Minifier::end_extracted_name(const char* end) {
  skip(end, end);
  std::string raw;
  out_.copy(members_.back().name_begin, out_.size(), raw);
  const std::string name = meaning_of(raw);
  const bool is_wanted = std::ranges::any_of(extract_->names, [&name](std::string_view wanted) {
    return equals_ignoring_case(name, wanted);
  });
  out_.shorten(members_.back().name_begin);
  if (!is_wanted) {
    muted_ = Muted::kMember;
  } else {
    if (out_.size() > 1) out_.append(",");
    out_.append(raw);
  }
}

/// From `run` to `at` the string has bytes that stand for themselves: it can be cut anywhere there.
void Minifier::cut_string(const char* run, const char* at) {
  const std::size_t bytes = written(at) - string_begin_;
  if (bytes <= extract_->text_bytes_max) return;
  const char* const cut =
      at - std::min<std::ptrdiff_t>(at - run,
                                    static_cast<std::ptrdiff_t>(bytes - extract_->text_bytes_max));
  skip(cut, cut);
  is_tail_ = true;
}

/// Of the container at hand, to its end.
void Minifier::mute_content(const char* at) {
  skip(at, at);
  muted_ = Muted::kContent;
  muted_in_ = nested_;
}

void Minifier::unmute(const char* at) {
  muted_ = Muted::kNothing;
  unwritten_ = at;
}

}  // namespace millrace::faktory
