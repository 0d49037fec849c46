#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Keeps a text where it is. Shared: several replies may show the same text.
using TextOwner = std::shared_ptr<const void>;

/// A text of megabytes that is handed on in parts. What is long in it is not copied before that.
class LongText {
 public:
  /// A short part, which is copied.
  void add(std::string_view text);

  /// A part that stays where it is for as long as `owner` is there.
  void add(std::string_view text, TextOwner owner);

  void add(LongText&& text);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Moves up to so many bytes from the front of it to the end of `out`.
  void take(std::size_t bytes_max, std::string& out);

  /// Drops so many bytes from the front of it, which it has.
  void drop(std::size_t bytes);

 private:
  struct Part {
    std::string text;
    std::string_view view;  ///< if there is an owner
    TextOwner owner;
    std::size_t taken = 0;

    [[nodiscard]] std::string_view rest() const {
      return (owner ? view : std::string_view(text)).substr(taken);
    }
  };

  void pass(Part& first, std::size_t bytes);

  std::vector<Part> parts_;  ///< an empty one needs no memory, unlike a deque
  std::size_t first_ = 0;    ///< those before it were taken
  std::size_t size_ = 0;
};

}  // namespace millrace
