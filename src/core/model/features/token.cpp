#include "core/model/features/token.hpp"

#include <string_view>

#include "base/text.hpp"

namespace millrace {

std::string Token::id() const {
  return hex_of(std::string_view(hash).substr(0, kTokenIdBytes));
}

}  // namespace millrace
