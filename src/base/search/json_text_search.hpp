#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Finds a part in a text that comes in any pieces. Whatever both are, each byte of the text costs
/// two comparisons at most (Knuth, Morris and Pratt 1977).
class TextSearch {
 public:
  /// Not empty.
  explicit TextSearch(std::string part);

  /// Begins a new text.
  void restart() { matched_ = 0; }

  /// How much of the part the text ends with so far. Another search for the same part can go on
  /// from it.
  [[nodiscard]] std::size_t matched() const { return matched_; }
  void go_on_from(std::size_t matched) { matched_ = matched; }

  /// Reads on. True: the part is in the text; nothing more may be read of it.
  [[nodiscard]] bool read(std::string_view bytes);

 private:
  std::string part_;
  /// For each length of a beginning of the part: how long its longest other beginning is that it
  /// ends with.
  std::vector<std::size_t> borders_;
  std::size_t matched_ = 0;  ///< so much of the part ends where the text was read to
};

/// Finds a part in a text that comes in any pieces, as it is written or with the escapes of JSON
/// decoded: `\u674e` is found as `李`, and `\/` as `/`. A text need not be JSON.
class JsonTextSearch {
 public:
  /// Not empty.
  explicit JsonTextSearch(const std::string& part) : written_(part), decoded_(part) {}

  /// Begins a new text.
  void restart();

  /// Reads on. True: the part is in the text; nothing more may be read of it.
  [[nodiscard]] bool read(std::string_view bytes);

 private:
  [[nodiscard]] bool read_decoded(std::string_view bytes);
  [[nodiscard]] bool read_escape();
  [[nodiscard]] bool read_code(unsigned code);

  TextSearch written_;
  TextSearch decoded_;  ///< idle until the first escape: till then both would be alike
  bool has_escapes_ = false;
  std::string escape_;  ///< one that is not complete yet
  unsigned high_ = 0;   ///< the first half of a surrogate pair; 0: none
};

}  // namespace millrace
