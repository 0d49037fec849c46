#include "base/text_map.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("text map: a view finds the text that the map owns") {
  TextMap<int> map;
  {
    const std::string name = "mail";
    map[name] = 7;
  }
  CHECK(map.find(std::string_view("mail"))->second == 7);
  CHECK(map.find(std::string_view("mai")) == map.end());
}

}  // namespace millrace
