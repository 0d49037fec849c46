#include "cli/show/table.hpp"

#include "support/doctest.hpp"

namespace millrace::cli {
namespace {

Table of_mail() {
  Table table({{"queue"}, {"ready", Table::Side::kRight}, {"note"}});
  table.add({{"mail"}, {"12"}, {""}});
  table.add({{"李"}, {"1,234,567"}, {"paused"}});
  return table;
}

}  // namespace

TEST_CASE("table: texts are to the left, numbers to the right, and no line ends with blanks") {
  CHECK(of_mail().text({}) ==
        "queue      ready  note\n"
        "mail          12\n"
        "李     1,234,567  paused\n");
}

TEST_CASE("table: the widest text is cut where the terminal is too narrow, and no number") {
  Table table({{"id", Table::Side::kRight}, {"error"}, {"args"}});
  table.add({{"1234567"}, {"a message that is much too long"}, {"[1, 2, 3]"}});
  CHECK(table.text({.columns = 40}) ==
        "     id  error                 args\n"
        "1234567  a message that is m…  [1, 2, 3]\n");
}

TEST_CASE("table: texts of one length are cut alike") {
  Table table({{"a"}, {"b"}});
  table.add({{"xxxxxxxxxxxxxxxxxxxx"}, {"yyyyyyyyyyyyyyyyyyyy"}});
  CHECK(table.text({.columns = 22}) ==
        "a           b\n"
        "xxxxxxxxx…  yyyyyyyyy…\n");
}

TEST_CASE("table: no line is longer than the terminal") {
  CHECK(of_mail().text({.columns = 10}) ==
        "queue\n"
        "mail\n"
        "李     1,…\n");
  CHECK(of_mail().text({.columns = 1}) == "…\n…\n…\n");
}

TEST_CASE("table: what is in a cell stays in its line") {
  Table table({{"error"}});
  table.add({{"one\ntwo\x1b[2J"}});
  CHECK(table.text({}) == "error\none\\ntwo\\x1b[2J\n");
}

TEST_CASE("table: colors are written only where they are wanted, and take no room") {
  Table table({{"state"}, {"id"}});
  table.add({{"dead", Color::kRed}, {"7"}});
  CHECK(table.text({.has_colors = true}) ==
        "\x1b[1mstate\x1b[0m  \x1b[1mid\x1b[0m\n"
        "\x1b[31mdead\x1b[0m   7\n");
  CHECK(table.text({}) == "state  id\ndead   7\n");
}

}  // namespace millrace::cli
