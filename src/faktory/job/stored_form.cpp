#include "faktory/job/stored_form.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.hpp"
#include "base/varint.hpp"

namespace millrace::faktory {
namespace {

constexpr std::string_view kRetryStart = R"({"retry":)";

/// A size in a stored form: bodies are shorter than 2^32. Beyond that the bytes are damaged.
std::optional<std::size_t> take_size(std::string_view& bytes) {
  const std::optional<std::uint64_t> size = take_varint(bytes);
  if (!size || *size > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::size_t>(*size);
}

/// Appends valid JSON without its insignificant white space.
void append_compact(std::string_view json, std::string& out) {
  const std::size_t before = out.size();
  std::size_t written = 0;
  out.resize(before + json.size() + simdjson::SIMDJSON_PADDING);
  const auto error = simdjson::minify(json.data(), json.size(), out.data() + before, written);
  // The reader has checked it.
  CHECK(error == simdjson::SUCCESS);
  out.resize(before + written);
}

void append_member(std::string_view start, std::int64_t value, std::string& out) {
  out += start;
  out += std::to_string(value);
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

void encode_work_unit(const JobMembers& members, std::string& out) {
  CHECK(!members.raw_jid.empty() && !members.raw_jobtype.empty() && !members.raw_args.empty());
  std::string text;
  text.reserve(256);
  const std::int64_t retry = members.retry.value_or(kRetryDefault);
  if (retry != kRetryDefault) append_member(kRetryStart, retry, text);
  if (!members.raw_custom.empty()) {
    const std::size_t before = text.size();
    text += R"(,"custom":)";
    append_compact(members.raw_custom, text);
    // As in the reference, which omits an empty map.
    if (text.ends_with(":{}")) text.resize(before);
  }
  text += R"(,"jid":)";
  const std::size_t jid_at = text.size();
  text += members.raw_jid;
  const std::size_t jid_end = text.size();
  text += R"(,"jobtype":)";
  text += members.raw_jobtype;
  if (!members.created_at.empty()) {
    text += kCreatedStart;
    text += members.raw_created_at;
  }
  const std::size_t head_end = text.size();
  if (!members.at.empty()) {
    text += R"(,"at":)";
    text += members.raw_at;
  }
  text += R"(,"args":)";
  append_compact(members.raw_args, text);
  if (members.reserve_for != 0) append_member(R"(,"reserve_for":)", members.reserve_for, text);
  if (members.backtrace != 0) append_member(R"(,"backtrace":)", members.backtrace, text);
  for (const auto& [name, value] : members.others) {
    text += ',';
    text += name;
    text += ':';
    append_compact(value, text);
  }
  text += '}';

  // Positions first: ACK and lists find jid and jobtype without reading JSON.
  append_varint(jid_at, out);
  append_varint(jid_end - jid_at, out);
  append_varint(head_end - jid_end, out);
  out += text;
}

std::optional<StoredForm> decode_work_unit(std::string_view body) {
  const std::optional<std::size_t> jid_at = take_size(body);
  const std::optional<std::size_t> jid_bytes = take_size(body);
  const std::optional<std::size_t> head_bytes = take_size(body);
  if (!jid_at || !jid_bytes || !head_bytes) return std::nullopt;
  const std::size_t jid_end = *jid_at + *jid_bytes;
  // A jid has its quotes. The sizes come from the log: nothing is read past the body.
  if (*jid_bytes < 2 || jid_end + *head_bytes > body.size()) return std::nullopt;

  StoredForm form;
  const std::optional<std::size_t> retry_end = take_retry(body, form);
  if (!retry_end || *retry_end > *jid_at) return std::nullopt;
  form.until_jid = body.substr(*retry_end, jid_end - *retry_end);
  form.head = body.substr(jid_end, *head_bytes);
  form.rest = body.substr(jid_end + *head_bytes);
  form.raw_jid = body.substr(*jid_at, *jid_bytes);
  return form;
}

}  // namespace millrace::faktory
