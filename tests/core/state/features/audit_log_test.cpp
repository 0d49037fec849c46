#include "core/state/features/audit_log.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

ChangeNoted noted(AuditLog::Number number, const std::string& action = "a",
                  ChangeOutcome outcome = ChangeOutcome::kMade) {
  Change change{.client = {}, .action = action, .target = {}, .details = {}};
  change.outcome = outcome;
  return {.number = number, .change = std::move(change)};
}

ChangeNoted refused(AuditLog::Number number) {
  return noted(number, "login", ChangeOutcome::kRefused);
}

std::vector<AuditLog::Number> numbers(const AuditLog& log) {
  std::vector<AuditLog::Number> all;
  log.each_before(log.end(), [&](AuditLog::Number number, const Change&) {
    all.push_back(number);
    return true;
  });
  return all;
}

}  // namespace

TEST_CASE("audit log: the latest comes first, and one is replaced by its number") {
  AuditLog log;
  CHECK(log.end() == 1);
  for (const AuditLog::Number number : {1, 2, 3}) log.apply(noted(number));
  log.apply(noted(2, "again"));
  CHECK(numbers(log) == std::vector<AuditLog::Number>{3, 2, 1});
  CHECK(log.find(2)->action == "again");
  CHECK(log.find(4) == nullptr);
  CHECK(log.end() == 4);
}

TEST_CASE("audit log: the changes of one target are found, the latest first") {
  AuditLog log;
  for (const AuditLog::Number number : {1, 2, 3, 4}) {
    ChangeNoted record = noted(number);
    record.change->target = number % 2 == 0 ? "mail" : "images";
    log.apply(std::move(record));
  }
  std::vector<AuditLog::Number> found;
  const auto add = [&](AuditLog::Number number, const Change&) {
    found.push_back(number);
    return true;
  };
  log.each_of("mail", add);
  log.each_of("none", add);
  CHECK(found == std::vector<AuditLog::Number>{4, 2});
}

TEST_CASE("audit log: one more than the limit displaces the oldest") {
  AuditLog log;
  for (AuditLog::Number number = 1; number <= AuditLog::kChangesMax; ++number)
    log.apply(noted(number));
  CHECK(log.find(1) != nullptr);
  log.apply(noted(AuditLog::kChangesMax + 1));
  CHECK(log.find(1) == nullptr);
  CHECK(log.size() == AuditLog::kChangesMax);
  // Compaction has written it again before it was displaced.
  log.apply(noted(1));
  CHECK(log.find(1) == nullptr);
  CHECK(log.size() == AuditLog::kChangesMax);
}

TEST_CASE("audit log: refused attempts displace one another, and no change") {
  AuditLog log;
  log.apply(noted(1));
  for (AuditLog::Number number = 2; number <= AuditLog::kRefusedMax + 2; ++number)
    log.apply(refused(number));
  CHECK(log.find(1) != nullptr);
  CHECK(log.find(2) == nullptr);
  CHECK(log.find(3) != nullptr);
  CHECK(log.size() == AuditLog::kRefusedMax + 1);
}

TEST_CASE("audit log: what is kept does not depend on the order of the records") {
  std::mt19937 random(7);
  std::vector<ChangeNoted> records;
  for (AuditLog::Number number = 1; number <= 13'000; ++number)
    records.push_back(random() % 4 == 0 ? refused(number) : noted(number));
  AuditLog in_order;
  for (const ChangeNoted& each : records) in_order.apply(ChangeNoted(each));
  std::ranges::shuffle(records, random);
  AuditLog in_disorder;
  for (const ChangeNoted& each : records) in_disorder.apply(ChangeNoted(each));
  CHECK(numbers(in_disorder) == numbers(in_order));
  CHECK(in_disorder.live_bytes() == in_order.live_bytes());
}

TEST_CASE("audit log: the log is needed from the oldest record on, which compaction writes again") {
  AuditLog log;
  log.apply(noted(1));
  log.place(100);
  log.apply(noted(2));
  log.place(200);
  CHECK(log.oldest_place() == 100);
  CHECK(log.live_bytes() == encoded_bytes(noted(1)) + encoded_bytes(noted(2)));
  std::string batch;
  log.rewrite_oldest(batch);
  log.place(300);
  CHECK(log.oldest_place() == 200);
  std::string_view bytes = batch;
  const auto record = decode(bytes);
  REQUIRE(record);
  CHECK(std::get<ChangeNoted>(record.value()) == noted(1));
}

}  // namespace millrace
