#include "faktory/json/object_reader.hpp"

#include <simdjson.h>

#include <utility>

#include "base/text.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

namespace ondemand = simdjson::ondemand;

/// How many containers are around the members, and around the entries of their lists.
constexpr std::size_t kMemberDepth = 1;
constexpr std::size_t kEntryDepth = 2;

// Functions that read a value answer whether it is JSON.

bool read_string(ondemand::value value, std::string& text) {
  std::string_view string;
  if (value.get_string().get(string) != simdjson::SUCCESS) return false;
  text = string;
  return true;
}

/// A value that is no list.
bool read_plain(ondemand::document& document, ondemand::value value, ondemand::json_type type,
                std::size_t depth, MemberValue& read) {
  using Kind = MemberValue::Kind;
  if (type == ondemand::json_type::string) {
    read.kind = Kind::kString;
    return read_string(value, read.string);
  }
  const Outcome<std::string_view> raw = check_value(document, value, depth);
  if (!raw) return false;
  const std::optional<std::int64_t> integer =
      type == ondemand::json_type::number ? parse_integer(*raw) : std::nullopt;
  if (integer) read.integer = *integer;
  const bool is_null = type == ondemand::json_type::null;
  read.kind = is_null ? Kind::kNull : integer ? Kind::kInteger : Kind::kOther;
  return true;
}

/// A list with anything but strings and nulls in it is of kind kOther.
bool read_list(ondemand::document& document, ondemand::value value, MemberValue& read) {
  ondemand::array entries;
  if (value.get_array().get(entries) != simdjson::SUCCESS) return false;
  read.kind = MemberValue::Kind::kStringList;
  for (auto element : entries) {
    ondemand::value inner;
    ondemand::json_type type;
    MemberValue entry;
    if (element.get(inner) != simdjson::SUCCESS) return false;
    if (inner.type().get(type) != simdjson::SUCCESS) return false;
    if (!read_plain(document, inner, type, kEntryDepth, entry)) return false;
    if (entry.kind != MemberValue::Kind::kString && entry.kind != MemberValue::Kind::kNull) {
      read.kind = MemberValue::Kind::kOther;
    }
    // Further entries are checked and dropped: a list from outside is bounded.
    if (read.strings.size() < kListEntriesMax) read.strings.push_back(std::move(entry.string));
  }
  return true;
}

bool read_member(ondemand::document& document, ondemand::field& field, const MemberVisitor& visit) {
  std::string_view name;
  ondemand::json_type type;
  MemberValue value;
  if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
  if (field.value().type().get(type) != simdjson::SUCCESS) return false;
  const bool is_read = type == ondemand::json_type::array
                           ? read_list(document, field.value(), value)
                           : read_plain(document, field.value(), type, kMemberDepth, value);
  return is_read && visit(name, value);
}

bool read_members(ondemand::document& document, const MemberVisitor& visit) {
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return false;
    if (!read_member(document, field, visit)) return false;
  }
  // Anything after the object makes it no object.
  return is_at_end(document);
}

}  // namespace

bool take_text(const MemberValue& value, std::string& field) {
  if (value.kind == MemberValue::Kind::kNull) return true;
  if (value.kind != MemberValue::Kind::kString) return false;
  field = value.string;
  return true;
}

bool take_integer(const MemberValue& value, std::int64_t& field) {
  if (value.kind == MemberValue::Kind::kNull) return true;
  if (value.kind != MemberValue::Kind::kInteger) return false;
  field = value.integer;
  return true;
}

bool take_strings(const MemberValue& value, std::vector<std::string>& field) {
  if (value.kind != MemberValue::Kind::kStringList && value.kind != MemberValue::Kind::kNull) {
    return false;
  }
  field = value.strings;
  return true;
}

ObjectShape read_object(std::string_view json, const MemberVisitor& visit) {
  if (trimmed(json) == "null") return ObjectShape::kNull;
  if (json.starts_with(kByteOrderMark)) return ObjectShape::kMalformed;
  const std::optional<std::string> repaired = repaired_json(json);
  // simdjson reads a few bytes past the end, so the text is copied with padding.
  const simdjson::padded_string text(repaired ? std::string_view(*repaired) : json);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) return ObjectShape::kMalformed;
  return read_members(document, visit) ? ObjectShape::kObject : ObjectShape::kMalformed;
}

}  // namespace millrace::faktory
