#include "core/broker/features/activity.hpp"

#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace {
namespace {

struct ActivityTest {
  Ledger ledger;
  AdmissionControl admission{ledger};
  Activity activity{ledger, admission};
  Time now{1000s};

  void refuse(const std::string& from, const std::string& action = "login",
              const std::string& name = {}) {
    Change change{.at = now, .client = {}, .action = action, .target = {}, .details = {}};
    change.from = from;
    change.user = name;
    activity.refuse(std::move(change), from);
  }
  /// Somebody who has logged in.
  void refuse_user(const std::string& user, const std::string& action,
                   const std::string& from = "f") {
    Change change{.at = now, .client = {}, .action = action, .target = {}, .details = {}};
    change.from = from;
    change.user = user;
    activity.refuse(std::move(change), {});
  }
  /// The latest first: address and count.
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> texts;
    activity.log().each_before(activity.log().end(), [&](auto, const Change& change) {
      texts.push_back(change.from + " " + std::to_string(change.count));
      return true;
    });
    return texts;
  }
};

Change change_of(const std::string& action) {
  return {.client = {}, .action = action, .target = {}, .details = {}};
}

}  // namespace

TEST_CASE_FIXTURE(ActivityTest, "activity: a change is recorded, and once more with its jobs") {
  const Activity::Number number = activity.note(change_of("flush"));
  activity.finish(number, 3);
  Ledger other;
  CHECK(other.replay(ledger.take_batch(), 0).has_value());
  const Change* const change = other.store().audit_log().find(number);
  REQUIRE(change != nullptr);
  CHECK(change->action == "flush");
  CHECK(change->outcome == ChangeOutcome::kCounted);
  CHECK(change->count == 3);
  activity.finish(number + 1, 3);
  CHECK_FALSE(ledger.has_batch());
}

TEST_CASE_FIXTURE(ActivityTest, "activity: an operation is counted when it ends") {
  const Activity::Number number = activity.note(change_of("operations"), 7);
  CHECK(activity.operation_of(number) == 7);
  activity.finish_operation(8, 1);
  CHECK(activity.log().find(number)->outcome == ChangeOutcome::kMade);
  activity.finish_operation(7, 1);
  CHECK(activity.operation_of(number) == 0);
  CHECK(activity.log().find(number)->count == 1);
}

TEST_CASE_FIXTURE(ActivityTest,
                  "activity: attempts of a minute are one entry, and counted after it") {
  CHECK(activity.next_due() == kNever);
  for (int i = 0; i < 3; ++i) refuse("a");
  refuse("b");
  refuse("a", "queues/pause");
  CHECK(all() == std::vector<std::string>{"a 1", "b 1", "a 1"});
  CHECK(activity.next_due() == now + 1min);
  now += 59s;
  activity.work(now);
  refuse("a");
  CHECK(all() == std::vector<std::string>{"a 1", "b 1", "a 1"});
  now += 1s;
  activity.work(now);
  CHECK(all() == std::vector<std::string>{"a 1", "b 1", "a 4"});
  CHECK(activity.next_due() == kNever);
  refuse("a");
  CHECK(all().front() == "a 1");
}

TEST_CASE_FIXTURE(ActivityTest, "activity: attempts of many addresses share an entry") {
  for (std::size_t i = 0; i < Activity::kRefusedApartMax + 3; ++i) refuse(std::to_string(i));
  now += 1min;
  activity.work(now);
  CHECK(all().size() == Activity::kRefusedApartMax + 1);
  CHECK(all().front() == "many addresses 3");
}

TEST_CASE_FIXTURE(ActivityTest, "activity: attempts of users are apart, wherever they come from") {
  for (const char* from : {"a", "b", "c"}) refuse_user("ana", "flush", from);
  refuse_user("bob", "flush");
  refuse_user("bob", "mutate");
  activity.count_refused();
  CHECK(all() == std::vector<std::string>{"f 1", "f 1", "a 3"});
  for (std::size_t i = 0; i < Activity::kRefusedApartMax + 5; ++i) {
    refuse_user(i % 2 == 0 ? "ana" : "bob", std::to_string(i));
  }
  std::vector<std::string> many;
  activity.log().each_before(activity.log().end(), [&](auto, const Change& change) {
    if (change.action == Activity::kManyActions) many.push_back(change.user);
    return true;
  });
  CHECK(many == std::vector<std::string>{"bob", "ana"});
}

TEST_CASE_FIXTURE(ActivityTest, "activity: the names that an address has tried are noted") {
  for (const char* name : {"ana", "root", "ro", "root", "ana", ""}) refuse("a", "login", name);
  activity.count_refused();
  activity.log().each_before(activity.log().end(), [&](auto, const Change& change) {
    CHECK(change.user == "ana");
    CHECK(change.count == 6);
    CHECK(change.details == "; also as root, ro");
    return true;
  });
  for (int i = 0; i < 1'000; ++i) refuse("b", "login", "name-" + std::to_string(i));
  activity.count_refused();
  CHECK(activity.log().find(activity.log().end() - 1)->details.size() < 140);
}

TEST_CASE_FIXTURE(ActivityTest, "activity: while the disk is full, no attempt is recorded") {
  admission.set(Admission::kNoJobs);
  refuse("a");
  CHECK(all().empty());
  activity.note(change_of("flush"));
  CHECK(all().size() == 1);
}

}  // namespace millrace
