#include "server/options/config_check.hpp"

#include <string>
#include <vector>

#include "server/scratch.hpp"
#include "server/variable.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using Action = Invocation::Action;

constexpr const char* kNoJournalToSync =
    "--volatile and --sync always contradict each other: leave one out";

Invocation serve_with(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "serve");
  return read_invocation(flags);
}

TEST_CASE("config check: no journal, and each change on disk, is a contradiction") {
  CHECK(serve_with({"--volatile", "--sync=always"}).action == Action::kRefuse);
  CHECK(serve_with({"--volatile", "--sync=always"}).text == kNoJournalToSync);
  CHECK(serve_with({"--volatile"}).action == Action::kServe);
  CHECK(serve_with({"--sync=always"}).action == Action::kServe);
  CHECK(serve_with({"--volatile", "--sync=off"}).action == Action::kServe);
  CHECK(serve_with({"--volatile=false", "--sync=always"}).action == Action::kServe);
}

TEST_CASE("config check: a contradiction counts wherever its halves come from") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "sync = \"always\"\n");
  CHECK(serve_with({"--volatile", "--config", file}).text == kNoJournalToSync);
  CHECK(serve_with({"--volatile", "--sync=off", "--config", file}).action == Action::kServe);
  const Variable is_volatile("MILLRACE_VOLATILE", "true");
  CHECK(serve_with({"--sync=always"}).text == kNoJournalToSync);
  CHECK(serve_with({"--volatile=false", "--sync=always"}).action == Action::kServe);
}

TEST_CASE("config check: finished jobs outlive a restart where some are kept, in a journal") {
  CHECK(serve_with({"--keep-finished-durable"}).action == Action::kServe);
  CHECK(serve_with({"--keep-finished=1", "--keep-finished-durable"}).action == Action::kServe);
  CHECK(serve_with({"--keep-finished-durable", "--keep-finished=0"}).text ==
        "--keep-finished-durable needs finished jobs to keep: --keep-finished is 0");
  CHECK(serve_with({"--keep-finished-durable", "--volatile"}).text ==
        "--volatile and --keep-finished-durable contradict each other: leave one out");
}

TEST_CASE("config check: the defaults go together") {
  CHECK(check_together(Config{}));
}

}  // namespace
}  // namespace millrace::server
