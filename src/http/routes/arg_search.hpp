#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job.hpp"

namespace millrace::http {

/// The part of a job's body that begins with its arguments; empty: it has none. The body is in
/// memory.
using ArgsPart = std::function<std::string_view(const Job& job)>;

/// A member of an object, or the number of an element of an array.
struct ArgName {
  std::string text;
  bool is_quoted = false;  ///< then it is never a number
};

/// Which value is wanted in the arguments of a job: `user.id:42` is the member `id` of the member
/// `user` of any argument, and `0.id:42` that of the first one. Elements of an array need no
/// number.
struct ArgPath {
  std::vector<ArgName> names;
  std::string value;
  bool is_beginning = false;  ///< `*` was at its end
};

/// More paths are not searched for at a time.
inline constexpr std::size_t kArgPathsMax = 8;

/// Paths with blanks between them. A name or a value may be in quotes, in which a backslash
/// precedes what is to be taken as it is: `"a.b".c:"x \"y\"" d:""`. nullopt: the text is not
/// written so, or has none.
[[nodiscard]] std::optional<std::vector<ArgPath>> parse_args(std::string_view text);

/// Finds that value in an array of arguments, which is JSON and comes in any pieces. A string is
/// compared without its quotes and escapes, any other value as it is written.
class ArgSearch {
 public:
  explicit ArgSearch(ArgPath path);

  /// Begins a new array.
  void restart();

  /// Reads on. True: the value is there; nothing more may be read.
  [[nodiscard]] bool read(std::string_view bytes);
  /// The array has ended: what follows need not be read.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  /// A container that is open, and may have the value in it.
  struct Level {
    bool is_array;
    std::size_t names;      ///< of the path, that led to it
    std::size_t index = 0;  ///< of the element that comes next
  };

  [[nodiscard]] bool read_byte(char byte);
  void open(bool is_array);
  void close();
  [[nodiscard]] std::optional<std::size_t> names_to_value() const;
  [[nodiscard]] bool end_text();
  [[nodiscard]] bool end_literal();
  [[nodiscard]] bool is_wanted(std::string_view value) const;
  void add_to_text(char byte);

  ArgPath path_;
  std::size_t text_max_;     ///< so much of a string tells whether it is wanted
  std::vector<Level> open_;  ///< the outermost first
  std::size_t skipped_ = 0;  ///< further containers that are open, without the value
  bool is_over_ = false;

  enum class In { kNothing, kString, kEscape, kLiteral };
  In in_ = In::kNothing;
  std::string text_;       ///< of the string or literal at hand, as it is written
  std::string name_;       ///< of the member whose value comes next
  bool has_name_ = false;  ///< there is one; else a string in an object is a name
};

}  // namespace millrace::http
