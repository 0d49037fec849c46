#include "faktory/json/report_extract.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "core/model/job.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

/// Of all four commands. What a member of one is called means nothing to the others.
constexpr std::array<std::string_view, 10> kNames = {
    "jid",           "errtype", "message", "backtrace", "wid",
    "current_state", "rss_kb",  "percent", "desc",      "reserve_until"};

constexpr std::size_t kTextBytesMax = 8 * 1024;

/// Writes the members as the library comes upon them, and keeps nothing of the others.
class Extractor : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string out;

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return scalar(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return scalar(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { return scalar(text); }
  bool string(std::string& text) override {
    if (!is_written()) return depth_ > 0;
    std::string quoted;
    append_json_string(std::string_view(text).substr(0, kTextBytesMax), quoted);
    return scalar(quoted);
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (depth_ == 0) out += '{';
    if (depth_ > 0 && is_written()) scalar("{}");
    return open();
  }
  bool end_object() override {
    if (--depth_ == 0) out += '}';
    return true;
  }
  bool start_array(std::size_t) override {
    const bool is_list = depth_ == kMember && is_wanted_;
    if (is_list) out += '[';
    if (!is_list && is_written()) scalar("[]");
    is_in_list_ |= is_list;
    entries_ = is_list ? 0 : entries_;
    return depth_ > 0 && open();
  }
  bool end_array() override {
    if (--depth_ == kMember && std::exchange(is_in_list_, false)) out += ']';
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ != kMember) return true;
    is_wanted_ = std::ranges::any_of(
        kNames, [&](std::string_view wanted) { return equals_ignoring_case(name, wanted); });
    if (!is_wanted_) return true;
    if (!out.ends_with('{')) out += ',';
    append_json_string(name, out);
    out += ':';
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr int kMember = 1;  ///< the depth at which the members of the report are
  static constexpr int kEntry = 2;

  /// Whether the value that begins here is wanted.
  [[nodiscard]] bool is_written() const {
    if (depth_ == kEntry) return is_in_list_ && entries_ < kBacktraceLinesMax;
    return depth_ == kMember && is_wanted_;
  }
  bool scalar(std::string_view text) {
    if (is_written()) {
      if (depth_ == kEntry && entries_++ > 0) out += ',';
      out += text;
    }
    return depth_ > 0;
  }
  bool open() { return ++depth_ <= kExtractNestingMax; }

  int depth_ = 0;  ///< how many containers are around
  bool is_wanted_ = false;
  bool is_in_list_ = false;  ///< of the member
  std::size_t entries_ = 0;
};

/// How long the escape at the front is; 0: it is none.
std::size_t escape_bytes(std::string_view text) {
  constexpr std::size_t kUnicodeBytes = 6;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  if (text.size() < 2 || text[1] != 'u') {
    return text.size() >= 2 && kLetters.find(text[1]) != kLetters.npos ? 2 : 0;
  }
  const std::string_view digits = text.substr(2, kUnicodeBytes - 2);
  const bool is_code = digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos;
  return is_code && digits.size() == kUnicodeBytes - 2 ? kUnicodeBytes : 0;
}

/// The JSON with the beginning of each string only: the library would need several times the memory
/// of the longest. What is left out is checked. Control characters in strings, which the library
/// refuses, become U+FFFD. nullopt: a string has an escape that is none.
std::optional<std::string> cut_strings(std::string_view json) {
  constexpr std::size_t kRawBytesMax = 6 * kTextBytesMax;
  std::string out;
  std::size_t begin = 0;  // of the string at hand
  bool is_in_string = false;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    const bool is_escape = is_in_string && c == '\\';
    const std::size_t bytes = is_escape ? escape_bytes(json.substr(at)) : 1;
    if (bytes == 0) return std::nullopt;
    if (c == '"') {
      is_in_string = !is_in_string;
      begin = out.size();
    }
    const bool is_control = is_in_string && static_cast<unsigned char>(c) < 0x20;
    const bool is_kept = !is_in_string || out.size() - begin <= kRawBytesMax;
    if (is_kept) out += is_control ? kReplacement : json.substr(at, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace

std::optional<std::string> extract_report(std::string_view line) {
  const std::size_t object = std::min(line.find('{'), line.size());
  std::optional<std::string> json = cut_strings(line.substr(object));
  if (!json) return std::nullopt;
  if (std::optional<std::string> repaired = repaired_json(*json)) json = std::move(repaired);
  Extractor extractor;
  extractor.out = line.substr(0, object);
  if (!nlohmann::json::sax_parse(json->begin(), json->end(), &extractor)) return std::nullopt;
  return std::move(extractor.out);
}

}  // namespace millrace::faktory
