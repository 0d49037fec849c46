#include "faktory/job/stored_form.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "base/varint.hpp"

namespace millrace::faktory {
namespace {

constexpr std::string_view kRetryStart = R"({"retry":)";
constexpr std::string_view kPriorityStart = R"(,"priority":)";

/// A size in a stored form: bodies are shorter than 2^32. Beyond that the bytes are damaged.
std::optional<std::size_t> take_size(std::string_view& bytes) {
  const std::optional<std::uint64_t> size = take_varint(bytes);
  if (!size || *size > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::size_t>(*size);
}

/// A body in parts: its text, where the jid is in it, how long jid and head are, and what is
/// unknown at the end. A jid has its quotes. The sizes come from the log: nothing is read past the
/// body.
struct JidAndHead {
  std::string_view text;
  std::size_t at;
  std::size_t jid_bytes;
  std::size_t head_bytes;
  std::size_t unknown_bytes;
};

/// Where a jid never is: `unknown_bytes` follows.
constexpr char kHasUnknown = '\0';

std::optional<JidAndHead> find_jid(std::string_view body) {
  std::optional<std::size_t> unknown_bytes = 0;
  if (body.starts_with(kHasUnknown)) {
    body.remove_prefix(1);
    unknown_bytes = take_size(body);
  }
  const std::optional<std::size_t> jid_at = take_size(body);
  const std::optional<std::size_t> jid_bytes = take_size(body);
  const std::optional<std::size_t> head_bytes = take_size(body);
  if (!jid_at || !jid_bytes || !head_bytes || *jid_bytes < 2 || !unknown_bytes) return std::nullopt;
  if (*jid_at + *jid_bytes + *head_bytes + *unknown_bytes > body.size()) return std::nullopt;
  return JidAndHead{body, *jid_at, *jid_bytes, *head_bytes, *unknown_bytes};
}

/// Whether valid JSON has white space, within strings or not: other control characters it has none.
bool has_space(std::string_view json) {
  constexpr std::uint64_t kEachByte = 0x0101010101010101;
  for (; json.size() >= sizeof kEachByte; json.remove_prefix(sizeof kEachByte)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, json.data(), sizeof bytes);
    // A byte below 0x21 turns its highest bit on, which those that begin with it had before.
    if (((bytes - kEachByte * 0x21) & ~bytes & kEachByte * 0x80) != 0) return true;
  }
  return std::ranges::any_of(json, [](unsigned char byte) { return byte < 0x21; });
}

/// The text of a form as one string.
struct WholeText {
  std::string text;

  [[nodiscard]] std::size_t size() const { return text.size(); }
  void add(std::string_view part) { text += part; }

  /// Appends valid JSON without its insignificant white space.
  void add_compact(std::string_view json) {
    // Many client libraries send none, and to look costs less.
    if (!has_space(json)) return add(json);
    const std::size_t before = text.size();
    std::size_t written = 0;
    text.resize(before + json.size() + simdjson::SIMDJSON_PADDING);
    const auto error = simdjson::minify(json.data(), json.size(), text.data() + before, written);
    // The reader has checked it.
    CHECK(error == simdjson::SUCCESS);
    text.resize(before + written);
  }

  /// As in the reference, which omits an empty map.
  void drop_empty_map(std::size_t before) {
    if (text.ends_with(":{}")) text.resize(before);
  }
};

void append_member(std::string_view start, std::int64_t value, WholeText& text) {
  text.add(start);
  text.add(std::to_string(value));
}

/// Where the jid is in a text, and how long what follows it is until the head ends.
struct Positions {
  std::size_t jid_at;
  std::size_t jid_end;
  std::size_t head_end;
  std::size_t unknown_bytes;  ///< 0: there is nothing unknown

  void append_to(std::string& out) const {
    if (unknown_bytes > 0) {
      out += kHasUnknown;
      append_varint(unknown_bytes, out);
    }
    append_varint(jid_at, out);
    append_varint(jid_end - jid_at, out);
    append_varint(head_end - jid_end, out);
  }
};

Positions write_text(const JobMembers& members, WholeText& text) {
  CHECK(!members.raw_jid.empty() && !members.raw_jobtype.empty() && !members.raw_args.empty());
  Positions positions{};
  const std::int64_t retry = members.retry.value_or(kRetryDefault);
  if (retry != kRetryDefault) append_member(kRetryStart, retry, text);
  if (!members.custom.raw.empty()) {
    const std::size_t before = text.size();
    text.add(R"(,"custom":)");
    text.add_compact(members.custom.raw);
    text.drop_empty_map(before);
  }
  text.add(R"(,"jid":)");
  positions.jid_at = text.size();
  text.add(members.raw_jid);
  positions.jid_end = text.size();
  text.add(kTypeStart);
  text.add(members.raw_jobtype);
  if (!members.created_at.empty()) {
    text.add(kCreatedStart);
    text.add(members.raw_created_at);
  }
  positions.head_end = text.size();
  if (!members.at.empty()) {
    text.add(R"(,"at":)");
    text.add(members.raw_at);
  }
  text.add(R"(,"args":)");
  text.add_compact(members.raw_args);
  if (members.reserve_for != 0) append_member(R"(,"reserve_for":)", members.reserve_for, text);
  if (members.backtrace != 0) append_member(R"(,"backtrace":)", members.backtrace, text);
  const int priority = members.priority.value_or(kPriorityDefault);
  if (priority != kPriorityDefault) append_member(kPriorityStart, priority, text);
  const std::size_t unknown = text.size();
  // As it was sent. Official libraries send this one, and no server has ever returned it.
  if (members.priority == kPriorityDefault) append_member(kPriorityStart, priority, text);
  for (const auto& [name, value] : members.others) {
    text.add(",");
    text.add(name);
    text.add(":");
    text.add_compact(value);
  }
  if (text.size() > unknown) positions.unknown_bytes = text.size() - unknown + 1;
  text.add("}");
  return positions;
}

/// How long the beginning of a text is that has `retry`; 0: the text begins with the next member.
/// nullopt: neither is there.
std::optional<std::size_t> take_retry(std::string_view text, StoredForm& form) {
  if (text.starts_with(',')) return 0;
  if (!text.starts_with(kRetryStart)) return std::nullopt;
  const char* const digits = text.data() + kRetryStart.size();
  const auto result = std::from_chars(digits, text.data() + text.size(), form.retry);
  if (result.ec != std::errc{}) return std::nullopt;
  const auto end = static_cast<std::size_t>(result.ptr - text.data());
  form.until_retry = text.substr(0, end);
  return end;
}

}  // namespace

std::size_t StoredForm::created_at() const {
  return std::min(head.find(kCreatedStart), head.size());
}

// Positions come first: ACK and lists find jid and jobtype without reading JSON.

void encode_work_unit(const JobMembers& members, std::string& out) {
  WholeText text;
  text.text.reserve(256);
  write_text(members, text).append_to(out);
  out += text.text;
}

std::string_view raw_jid_of(std::string_view body) {
  const std::optional<JidAndHead> found = find_jid(body);
  return found ? found->text.substr(found->at, found->jid_bytes) : std::string_view{};
}

std::string_view jid_and_head_of(std::string_view body) {
  const std::optional<JidAndHead> found = find_jid(body);
  if (!found) return {};
  return found->text.substr(found->at, found->jid_bytes + found->head_bytes);
}

std::string_view head_of(std::string_view body) {
  const std::optional<JidAndHead> found = find_jid(body);
  return found ? found->text.substr(found->at + found->jid_bytes, found->head_bytes)
               : std::string_view{};
}

std::optional<StoredForm> decode_work_unit(std::string_view body) {
  const std::optional<JidAndHead> found = find_jid(body);
  if (!found) return std::nullopt;
  const std::string_view text = found->text;
  const std::size_t jid_end = found->at + found->jid_bytes;

  StoredForm form;
  const std::optional<std::size_t> retry_end = take_retry(text, form);
  if (!retry_end || *retry_end > found->at) return std::nullopt;
  form.until_jid = text.substr(*retry_end, jid_end - *retry_end);
  form.head = text.substr(jid_end, found->head_bytes);
  form.rest = text.substr(jid_end + found->head_bytes);
  form.raw_jid = text.substr(found->at, found->jid_bytes);
  form.unknown_bytes = found->unknown_bytes;
  return form;
}

}  // namespace millrace::faktory
