#include "base/search/text_search.hpp"

#include <utility>

#include "base/check.hpp"

namespace millrace {

TextSearch::TextSearch(std::string part) : part_(std::move(part)), borders_(part_.size() + 1) {
  CHECK(!part_.empty());
  std::size_t border = 0;
  for (std::size_t i = 1; i < part_.size(); ++i) {
    while (border > 0 && part_[i] != part_[border]) border = borders_[border];
    if (part_[i] == part_[border]) ++border;
    borders_[i + 1] = border;
  }
}

bool TextSearch::read(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (matched_ == 0) {
      // Many times as fast as a look at each byte.
      i = bytes.find(part_.front(), i);
      if (i == bytes.npos) return false;
    }
    while (matched_ > 0 && bytes[i] != part_[matched_]) matched_ = borders_[matched_];
    if (bytes[i] == part_[matched_]) ++matched_;
    if (matched_ == part_.size()) return true;
  }
  return false;
}

}  // namespace millrace
