#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::faktory {

/// JSON of clients that is nested deeper is refused, so that reading it cannot exhaust the stack.
inline constexpr std::size_t kNestingMax = 512;

/// How many strings of a list are kept. Further ones are only checked.
inline constexpr std::size_t kListEntriesMax = 100;

/// The value of one member of an object.
struct MemberValue {
  enum class Kind { kNull, kString, kInteger, kStringList, kOther };

  Kind kind = Kind::kOther;
  std::string string;
  std::int64_t integer = 0;          ///< one that does not fit is a kOther
  std::vector<std::string> strings;  ///< a null in the list is an empty string
};

/// Takes one member; false stops the reading. A name may come more than once.
using MemberVisitor = std::function<bool(std::string_view name, const MemberValue& value)>;

/// Put the value into the field. False: it has another type. As in the reference, null leaves a
/// text or a number as it is, and empties a list.
[[nodiscard]] bool take_text(const MemberValue& value, std::string& field);
[[nodiscard]] bool take_integer(const MemberValue& value, std::int64_t& field);
[[nodiscard]] bool take_strings(const MemberValue& value, std::vector<std::string>& field);

/// What `read_object` found.
enum class ObjectShape { kObject, kNull, kMalformed };

/// Reads the small objects of HELLO, ACK, FAIL and BEAT, member by member. kMalformed: the text is
/// not JSON, neither an object nor null, or nested too deep; or the visitor said false.
[[nodiscard]] ObjectShape read_object(std::string_view json, const MemberVisitor& visit);

}  // namespace millrace::faktory
