#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::faktory {

/// Cuts the text of a JSON array into the texts of its elements, one after the other, so that a
/// long array can be read in slices. It knows strings and brackets only. Whether an element is
/// valid is for its reader to find out: the array is valid when all elements are, and no cut
/// failed. `null` counts as an empty array.
class ArrayCutter {
 public:
  /// The text must outlive the cutter.
  explicit ArrayCutter(std::string_view json);

  /// The next element's text; nullopt: there are no more, and nothing follows the array.
  [[nodiscard]] Outcome<std::optional<std::string_view>> next();

 private:
  [[nodiscard]] Outcome<std::optional<std::string_view>> open();
  [[nodiscard]] Outcome<std::optional<std::string_view>> end() const;
  [[nodiscard]] std::size_t element_end() const;

  std::string_view rest_;
  bool is_open_ = false;
  bool is_over_ = false;
};

}  // namespace millrace::faktory
