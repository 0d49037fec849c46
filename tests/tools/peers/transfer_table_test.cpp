#include "tools/peers/transfer_table.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {

TEST_CASE("import table: a row for each queue and state, with the reasons, and the sums") {
  TransferTable table({.queue = "tube"});
  for (int i = 0; i < 1000; ++i) table.add_taken("mail", "ready");
  table.add_refused("mail", "ready", "too long");
  table.add_taken("a", "buried");
  CHECK(table.text() ==
        "tube  state   found  taken  not taken\n"
        "a     buried      1      1\n"
        "mail  ready   1,001  1,000  1 too long\n"
        "all           1,002  1,001  1\n");
}

TEST_CASE("import table: a name cannot make a line of its own") {
  TransferTable table({.queue = "tube"});
  table.add_taken("a\nb\x1b", "ready");
  CHECK(table.text().find("a\\nb\\x1b") != std::string::npos);
}

TEST_CASE("import table: long names that differ at their ends stay apart") {
  TransferTable table({.queue = "tube"});
  for (const char* end : {"one", "two"}) table.add_taken(std::string(190, 'x') + end, "ready");
  CHECK(table.text().find("xone") != std::string::npos);
  CHECK(table.text().find("xtwo") != std::string::npos);
}

}  // namespace millrace::tools
