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

/// Which the library refuses in strings.
std::string without_controls(std::string_view json) {
  std::string out;
  bool is_in_string = false;
  bool is_escaped = false;
  for (const char c : json) {
    const bool is_control = is_in_string && static_cast<unsigned char>(c) < 0x20;
    is_control ? void(out += kReplacement) : out.push_back(c);
    if (c == '"' && !is_escaped) is_in_string = !is_in_string;
    is_escaped = is_in_string && c == '\\' && !is_escaped;
  }
  return out;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

}  // namespace

std::optional<std::string> extract_report(std::string_view line) {
  const std::size_t object = std::min(line.find('{'), line.size());
  const std::string_view verb = line.substr(0, object);
  std::string_view json = line.substr(object);
  std::string repaired;
  if (std::ranges::any_of(json, is_control)) json = repaired = without_controls(json);
  if (auto again = repaired_json(json)) json = repaired = std::move(*again);
  Extractor extractor;
  extractor.out = verb;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &extractor)) return std::nullopt;
  return std::move(extractor.out);
}

}  // namespace millrace::faktory
