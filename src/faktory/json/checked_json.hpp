#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "faktory/json/text.hpp"

namespace millrace::faktory {

/// Walks over the JSON of one value that was checked before, every byte of it: what was checked
/// needs no second parser. A text that is no JSON is walked over to its end, and not beyond.
class CheckedJson {
 public:
  explicit CheckedJson(std::string_view json) : rest_(json) {}

  /// The first byte that is no white space; 0 at the end.
  [[nodiscard]] char peek() {
    while (!rest_.empty() && is_json_space(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }

  /// Takes the bracket, comma or colon that is next, if it is that one.
  bool take(char punctuation) {
    if (peek() != punctuation) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Takes a whole value, and answers its text without the white space around it.
  std::string_view take_value();

  /// What was not taken yet.
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  [[nodiscard]] std::size_t string_end() const;
  [[nodiscard]] std::size_t container_end() const;

  std::string_view rest_;
};

/// Calls `visit(name, value)` with the texts of each member, the name with its quotes.
template <typename Visit>
void each_member(std::string_view object, Visit&& visit) {
  CheckedJson json(object);
  if (!json.take('{')) return;
  while (json.peek() == '"') {
    const std::string_view name = json.take_value();
    json.take(':');
    visit(name, json.take_value());
    json.take(',');
  }
}

/// What the JSON string means, which is given with its quotes.
[[nodiscard]] std::string meaning_of(std::string_view string);

/// Whether it means that text. The common case, in which nothing is escaped, costs a comparison.
[[nodiscard]] bool means(std::string_view string, std::string_view text);

}  // namespace millrace::faktory
