#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::faktory {

/// Nesting beyond this is refused, wherever JSON comes from outside.
inline constexpr std::size_t kNestingMax = 512;

/// Of a list of strings so many are kept; the others are only checked.
inline constexpr std::size_t kListEntriesMax = 100;

/// The value of one member of an object.
struct MemberValue {
  enum class Kind { kNull, kString, kInteger, kStringList, kOther };

  Kind kind = Kind::kOther;
  std::string string;
  std::int64_t integer = 0;          ///< fits into 64 bits with a sign; anything else is kOther
  std::vector<std::string> strings;  ///< a null in the list is an empty string
};

/// Takes one member; false stops the reading. Names may come more than once.
using MemberVisitor = std::function<bool(std::string_view name, const MemberValue& value)>;

/// Put the value into the field, or say false when it has another type. As in the reference, null
/// leaves a text or number as it is, and empties a list.
[[nodiscard]] bool take_text(const MemberValue& value, std::string& field);
[[nodiscard]] bool take_integer(const MemberValue& value, std::int64_t& field);
[[nodiscard]] bool take_strings(const MemberValue& value, std::vector<std::string>& field);

/// What `read_object` found.
enum class ObjectShape { kObject, kNull, kMalformed };

/// Reads the small objects of HELLO, ACK, FAIL and BEAT, member by member, and keeps none of them.
/// kMalformed: not JSON, neither an object nor null, nested too deep, or the visitor said false.
[[nodiscard]] ObjectShape read_object(std::string_view json, const MemberVisitor& visit);

}  // namespace millrace::faktory
