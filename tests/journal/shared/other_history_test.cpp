/// What a `ReplicatedJournal` does with a log that has another history than it has read.

#include <string>
#include <vector>

#include "journal/shared/peer.hpp"

namespace millrace::journal {
namespace {

using namespace std::chrono_literals;
using Followed = SharedJournal::Followed;

/// A standby that has read what the log lost when an older one was brought back, and went on.
class LeftBehind {
 public:
  LeftBehind() {
    Peer a(log, "a");
    a.lead();
    append_after_claim("b", {"lost"});
    c.open();
    REQUIRE(c.follow());
    c.step();
    log.set_back(1);
    append_after_claim("d", {"in its place", "goes on"});
  }

  SimulatedLog log;
  Peer c{log, "c"};

 private:
  void append_after_claim(const char* node, const std::vector<std::string>& batches) {
    Peer leader(log, node);
    REQUIRE(leader.follow());
    leader.now += 2s;
    leader.lead();
    for (const std::string& batch : batches) {
      REQUIRE(leader.journal->append(leader.epoch, batch));
    }
    leader.step();
  }
};

/// What keeps it from following; empty when nothing does.
std::string refusal_of(const Outcome<Followed>& followed) {
  return followed ? std::string() : followed.error().text;
}

}  // namespace

TEST_CASE("replicated journal: a log that was set back and went on is noticed by a standby") {
  LeftBehind left;
  CHECK(refusal_of(left.c.follow()) ==
        "entry 4 of the log is of another server than the one that leads: an older log was brought "
        "back, and went on");
  CHECK(left.c.batches == std::vector<std::string>{"lost"});
  CHECK_FALSE(left.c.journal->may_claim());
}

TEST_CASE("replicated journal: a standby with another history reads the log anew after a while") {
  LeftBehind left;
  REQUIRE_FALSE(left.c.follow());
  left.c.now += kReadAnewAfter - 1ms;
  REQUIRE_FALSE(left.c.follow());
  CHECK_FALSE(left.c.journal->is_cache_useless());
  left.c.now += 1ms;
  CHECK(left.c.followed(Followed::kUseless));
  CHECK(left.c.journal->is_cache_useless());
  CHECK(left.c.journal->problem().find("went on") != std::string::npos);
  Peer emptied(left.log, "c");
  CHECK(emptied.followed(Followed::kOn));
  CHECK(emptied.batches == std::vector<std::string>{"in its place", "goes on"});
}

TEST_CASE("replicated journal: a restart with another history reads the log anew after a while") {
  LeftBehind left;
  left.c.open();
  REQUIRE(left.c.replayed);
  CHECK(refusal_of(left.c.follow()).find("not the one that the directory has") !=
        std::string::npos);
  left.c.now += kReadAnewAfter;
  CHECK(left.c.followed(Followed::kUseless));
}

TEST_CASE("replicated journal: a log that contradicts itself is not read again and again") {
  SimulatedLog log;
  Peer a(log, "a");
  a.lead();
  log.append(1, {.bytes = encode(EntryHead{.kind = EntryHead::Kind::kClaim,
                                           .log = 5,
                                           .sequence = 2,
                                           .epoch = 1,
                                           .at = a.now,
                                           .writer = 7,
                                           .node = {},
                                           .notes = {}})});
  Peer b(log, "b");
  CHECK(refusal_of(b.follow()).find("does not lead") != std::string::npos);
  b.now += 1h;
  CHECK_FALSE(b.follow());
  CHECK_FALSE(b.journal->is_cache_useless());
}

}  // namespace millrace::journal
