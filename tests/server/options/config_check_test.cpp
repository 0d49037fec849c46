#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "server/options/config.hpp"
#include "server/options/serve_command.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "support/variable.hpp"

namespace millrace::server {
namespace {

constexpr const char* kNoJournalToSync =
    "--volatile and --sync always contradict each other: leave one out";

/// What is wrong with these flags of `serve`; empty: nothing.
std::string problem_with(std::vector<std::string> flags) {
  CLI::App app;
  const ServeCommand serve(app, "serve", "");
  flags.insert(flags.begin(), "serve");
  app.parse(std::vector<std::string>(flags.rbegin(), flags.rend()));
  const auto choice = serve.read();
  return choice ? "" : choice.error().text;
}

TEST_CASE("config check: no journal, and each change on disk, is a contradiction") {
  CHECK(problem_with({"--volatile", "--sync=always"}) != "");
  CHECK(problem_with({"--volatile", "--sync=always"}) == kNoJournalToSync);
  CHECK(problem_with({"--volatile"}) == "");
  CHECK(problem_with({"--sync=always"}) == "");
  CHECK(problem_with({"--volatile", "--sync=off"}) == "");
  CHECK(problem_with({"--volatile=false", "--sync=always"}) == "");
}

TEST_CASE("config check: a contradiction counts wherever its halves come from") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "sync = \"always\"\n");
  CHECK(problem_with({"--volatile", "--config", file}) == kNoJournalToSync);
  CHECK(problem_with({"--volatile", "--sync=off", "--config", file}) == "");
  const Variable is_volatile("MILLRACE_VOLATILE", "true");
  CHECK(problem_with({"--sync=always"}) == kNoJournalToSync);
  CHECK(problem_with({"--volatile=false", "--sync=always"}) == "");
}

TEST_CASE("config check: finished jobs outlive a restart where some are kept, in a journal") {
  CHECK(problem_with({"--keep-finished-durable"}) == "");
  CHECK(problem_with({"--keep-finished=1", "--keep-finished-durable"}) == "");
  CHECK(problem_with({"--keep-finished-durable", "--keep-finished=0"}) ==
        "--keep-finished-durable needs finished jobs to keep: --keep-finished is 0");
  CHECK(problem_with({"--keep-finished-durable", "--volatile"}) ==
        "--volatile and --keep-finished-durable contradict each other: leave one out");
}

TEST_CASE("config check: the defaults go together") {
  CHECK(check_together(Config{}));
}

}  // namespace
}  // namespace millrace::server
