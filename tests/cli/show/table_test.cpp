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

TEST_CASE("table: names are cut in the middle, where they are said to be") {
  Table table({{.title = "queue", .cut = Table::Cut::kMiddle}, {"n", Table::Side::kRight}});
  table.add({{"customers-of-the-north"}, {"1"}});
  table.add({{"customers-of-the-south"}, {"2"}});
  CHECK(table.text({.columns = 17}) ==
        "queue           n\n"
        "custome…-north  1\n"
        "custome…-south  2\n");
}

TEST_CASE("table: columns of the highest ranks are left out before texts are cut too much") {
  Table table({{.title = "group", .cut = Table::Cut::kNever},
               {.title = "dead", .side = Table::Side::kRight, .rank = 1},
               {"message"},
               {.title = "queues", .rank = 2}});
  table.add({{"0123456789abcdef"}, {"7"}, {"no such customer was found"}, {"mail"}});
  CHECK(table.text({.columns = 48}) ==
        "group             dead  message           queues\n"
        "0123456789abcdef     7  no such custome…  mail\n");
  CHECK(table.text({.columns = 47}) ==
        "group             dead  message\n"
        "0123456789abcdef     7  no such customer was f…\n");
  CHECK(table.text({.columns = 39}) ==
        "group             message\n"
        "0123456789abcdef  no such customer was…\n");
  CHECK(table.text({.columns = 20}) ==
        "group             m…\n"
        "0123456789abcdef  n…\n");
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
