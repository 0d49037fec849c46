#include "core/model/recent_changes.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("recent changes: of a job that was not changed, none is known") {
  RecentChanges changes;
  CHECK(changes.end_of(1) == 0);
  changes.note(2);
  CHECK(changes.end_of(1) == 0);
}

TEST_CASE("recent changes: a change ends with its batch, once that has a place") {
  RecentChanges changes;
  changes.note(1);
  CHECK(changes.end_of(1) == kWholeLog);
  changes.place(100);
  CHECK(changes.end_of(1) == 100);
}

TEST_CASE("recent changes: a batch without changes moves none") {
  RecentChanges changes;
  changes.note(1);
  changes.place(100);
  changes.place(200);
  changes.note(2);
  changes.place(300);
  CHECK(changes.end_of(1) == 100);
  CHECK(changes.end_of(2) == 300);
}

TEST_CASE("recent changes: of several changes of a job the newest counts") {
  RecentChanges changes;
  changes.note(1);
  changes.note(1);
  changes.place(100);
  changes.note(1);
  CHECK(changes.end_of(1) == kWholeLog);
  changes.place(200);
  CHECK(changes.end_of(1) == 200);
}

TEST_CASE("recent changes: what is durable is forgotten, and not a batch before") {
  RecentChanges changes;
  changes.note(1);
  changes.note(2);
  changes.place(100);
  changes.note(2);
  changes.place(200);
  changes.forget(99);
  CHECK(changes.end_of(1) == 100);
  changes.forget(100);
  CHECK(changes.end_of(1) == 0);
  CHECK(changes.end_of(2) == 200);
  changes.forget(200);
  CHECK(changes.end_of(2) == 0);
}

TEST_CASE("recent changes: of jobs that share a slot, each seems as new as the newest") {
  RecentChanges changes;
  changes.note(1);
  changes.place(100);
  changes.note(1 + RecentChanges::kSlots);
  changes.place(200);
  CHECK(changes.end_of(1) == 200);
  CHECK(changes.end_of(2) == 0);
}

TEST_CASE("recent changes: what is being collected is not forgotten") {
  RecentChanges changes;
  changes.note(1);
  changes.forget(kWholeLog);
  CHECK(changes.end_of(1) == kWholeLog);
}

}  // namespace millrace
