#include "engines/contract.hpp"

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::engines {
/// Names of the tests of engines may be the same.
namespace contract {
namespace {

using journal::kAnswerMax;
using journal::LogService;
using journal::Sequence;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Answers = std::vector<LogService::Answer>;
using Entries = std::vector<LogService::Entry>;

constexpr std::size_t kMebibyte = 1024 * 1024;
/// For what must happen, on however slow a machine.
constexpr seconds kPatience(20);
/// Less than what a test waits for, and more than a wake-up takes.
constexpr seconds kSoon(3);
constexpr seconds kLong(10);

/// The answers to that many appends.
Answers answers_to(LogService& log, std::size_t count) {
  Answers all;
  const auto end = Clock::now() + kPatience;
  while (all.size() < count && Clock::now() < end) {
    for (const auto& answer : log.answers(milliseconds(100))) all.push_back(answer);
  }
  REQUIRE(all.size() == count);
  return all;
}

/// Appends one entry and waits until it is stored. Answers where the log ends now.
Sequence store(LogService& log, Sequence expected_last, std::string bytes) {
  const Sequence last = log.append(expected_last, std::move(bytes));
  const Answers answers = answers_to(log, 1);
  REQUIRE(answers[0].last == last);
  REQUIRE_FALSE(answers[0].refusal);
  return last;
}

/// `count` entries of one byte each.
Sequence store_many(LogService& log, Sequence last, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) last = store(log, last, "x");
  return last;
}

/// What the engine answers. One that has much to do may be late: then it is asked once more.
template <typename Ask>
auto answer_to(Ask ask) {
  const auto end = Clock::now() + kPatience;
  auto answer = ask();
  while (!answer && answer.error().is_passing && Clock::now() < end) answer = ask();
  REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
  return std::move(*answer);
}

LogService::Extent extent_of(LogService& log) {
  return answer_to([&] { return log.extent(); });
}

LogService::Chunk chunk_of(LogService& log, Sequence after, std::size_t bytes_max,
                           LogService::Duration longest) {
  return answer_to([&] { return log.follow(after, bytes_max, longest); });
}

/// Everything from `after` up to `last`, whatever it takes.
Entries read(LogService& log, Sequence after, Sequence last) {
  Entries all;
  const auto end = Clock::now() + kPatience;
  while (after < last && Clock::now() < end) {
    LogService::Chunk chunk = chunk_of(log, after, 8 * kMebibyte, milliseconds(100));
    REQUIRE_FALSE(chunk.is_trimmed);
    REQUIRE(chunk.seen >= after);
    after = chunk.seen;
    for (auto& entry : chunk.entries) all.push_back(std::move(entry));
  }
  REQUIRE(after == last);
  return all;
}

void require_refused(const Answers& answers, LogService::Refusal refusal) {
  for (const auto& answer : answers) REQUIRE(answer.refusal == refusal);
}

void require_stored(const Answers& answers) {
  for (const auto& answer : answers) REQUIRE_MESSAGE(!answer.refusal, answer.problem);
}

/// Bytes of every value, the same for the same length and seed.
std::string bytes_of(std::size_t length, unsigned seed) {
  std::string bytes(length, '\0');
  unsigned state = seed;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// The length of an entry that takes at least three messages; 0 when none of up to 256 MiB does.
std::size_t length_of_several(const LogService& log) {
  for (std::size_t bytes = 1; bytes <= 256 * kMebibyte; bytes *= 2) {
    if (log.message_count(bytes) >= 3) return bytes + 1;
  }
  return 0;
}

/// Until the engine has removed what it was told to.
LogService::Extent extent_from(LogService& log, Sequence begin) {
  const auto end = Clock::now() + kPatience;
  LogService::Extent extent = extent_of(log);
  while (extent.begin < begin && Clock::now() < end) {
    (void)chunk_of(log, extent.last, 1, milliseconds(20));
    extent = extent_of(log);
  }
  return extent;
}

/// Wakes the log while somebody else waits for it.
class Waker {
 public:
  explicit Waker(LogService& log)
      : thread_([&log] {
          std::this_thread::yield();
          log.wake();
        }) {}
  ~Waker() { thread_.join(); }

 private:
  std::thread thread_;
};

// --- append ---

void empty_log(const OpenLog& open) {
  const auto log = open();
  const LogService::Extent extent = extent_of(*log);
  CHECK(extent.begin == 1);
  CHECK(extent.last == 0);
  const LogService::Chunk chunk = chunk_of(*log, 0, 100, milliseconds(0));
  CHECK(chunk.entries.empty());
  CHECK(chunk.seen == 0);
  CHECK_FALSE(chunk.is_trimmed);
  CHECK(log->answers(milliseconds(0)).empty());
}

void answers_in_order(const OpenLog& open) {
  const auto log = open();
  std::vector<Sequence> lasts;
  Sequence last = 0;
  for (int i = 0; i < 300; ++i) lasts.push_back(last = log->append(last, std::to_string(i)));
  const Answers answers = answers_to(*log, lasts.size());
  require_stored(answers);
  for (std::size_t i = 0; i < lasts.size(); ++i) REQUIRE(answers[i].last == lasts[i]);
  const Entries entries = read(*log, 0, last);
  REQUIRE(entries.size() == lasts.size());
  for (std::size_t i = 0; i < lasts.size(); ++i) REQUIRE(entries[i].bytes == std::to_string(i));
  CHECK(log->answers(milliseconds(0)).empty());
}

void message_counts(const OpenLog& open) {
  const auto log = open();
  CHECK(log->message_count(1) == 1);
  Sequence last = 0;
  for (const std::size_t length : {std::size_t{1}, std::size_t{1000}, 3 * kMebibyte}) {
    const Sequence before = last;
    last = store(*log, last, bytes_of(length, 1));
    CHECK(last == before + log->message_count(length));
    CHECK(extent_of(*log).last == last);
  }
  CHECK(extent_of(*log).begin == 1);
}

void several_messages(const OpenLog& open) {
  const auto log = open();
  const std::size_t length = length_of_several(*log);
  if (length == 0) return;
  const std::string bytes = bytes_of(length, 2);
  const Sequence first = log->append(0, "first");
  const Sequence middle = log->append(first, bytes);
  const Sequence last = log->append(middle, "last");
  CHECK(middle == first + log->message_count(length));
  require_stored(answers_to(*log, 3));

  const auto other = open();
  const Entries entries = read(*other, 0, last);
  REQUIRE(entries.size() == 3);
  CHECK((entries[1].bytes == bytes));
  CHECK(entries[1].first == first + 1);
  CHECK(entries[1].last == middle);
  CHECK(entries[2].bytes == "last");
}

/// It was numbered when the engine took shorter messages.
void as_numbered(const OpenLog& open) {
  const auto log = open();
  log->append({.first = 1, .last = 3, .bytes = "abcdefgh"});
  log->append({.first = 4, .last = 4, .bytes = "next"});
  require_stored(answers_to(*log, 2));
  const auto other = open();
  const Entries entries = read(*other, 0, 4);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].bytes == "abcdefgh");
  CHECK(entries[0].first == 1);
  CHECK(entries[0].last == 3);
  CHECK(entries[1].bytes == "next");
}

// --- the fence ---

void conflict(const OpenLog& open) {
  const auto log = open();
  const Sequence last = store_many(*log, 0, 2);
  (void)log->append(last - 1, "too early");
  (void)log->append(last, "in its shadow");
  require_refused(answers_to(*log, 2), LogService::Refusal::kConflict);
  (void)log->append(last + 5, "too late");
  require_refused(answers_to(*log, 1), LogService::Refusal::kConflict);
  CHECK(extent_of(*log).last == last);
  CHECK(store(*log, last, "goes on") == last + 1);
}

/// The refusal was not taken yet.
void conflict_unheard(const OpenLog& open) {
  const auto log = open();
  const Sequence last = store_many(*log, 0, 2);
  (void)log->append(last - 1, "too early");
  for (int i = 0; i < 50; ++i) (void)extent_of(*log);
  (void)log->append(last, "in its shadow");
  require_refused(answers_to(*log, 2), LogService::Refusal::kConflict);
  CHECK(extent_of(*log).last == last);
}

/// What the second one expects is there by then, but from somebody else.
void conflict_behind_a_conflict(const OpenLog& open) {
  const auto log = open();
  const auto other = open();
  CHECK(extent_of(*log).last == 0);
  const Sequence others = store_many(*other, 0, 2);
  Sequence last = 0;
  for (int i = 0; i < 5; ++i) last = log->append(last, "mine");
  require_refused(answers_to(*log, 5), LogService::Refusal::kConflict);
  CHECK(extent_of(*log).last == others);
  CHECK(store(*log, others, "goes on") == others + 1);
}

/// After each round, the one that lost has read what the other one stored.
void race(const OpenLog& open) {
  const auto one = open();
  const auto two = open();
  Sequence last = 0;
  for (int round = 0; round < 30; ++round) {
    LogService& first = round % 2 == 0 ? *one : *two;
    LogService& second = round % 2 == 0 ? *two : *one;
    Sequence ends[2] = {last, last};
    for (int i = 0; i < 3; ++i) {
      ends[0] = first.append(ends[0], "first");
      ends[1] = second.append(ends[1], "second");
    }
    Answers firsts;
    std::thread thread([&] { firsts = first.answers(kPatience); });
    Answers seconds_answers = answers_to(second, 3);
    thread.join();
    for (const auto& more : answers_to(first, 3 - firsts.size())) firsts.push_back(more);

    const bool first_won = !firsts[0].refusal;
    REQUIRE(first_won == seconds_answers[0].refusal.has_value());
    require_stored(first_won ? firsts : seconds_answers);
    require_refused(first_won ? seconds_answers : firsts, LogService::Refusal::kConflict);
    const Entries entries = read(first, last, last + 3);
    REQUIRE(entries.size() == 3);
    for (const auto& entry : entries) REQUIRE(entry.bytes == (first_won ? "first" : "second"));
    last += 3;
    REQUIRE(extent_of(second).last == last);
  }
}

void taking_turns(const OpenLog& open) {
  const auto one = open();
  const auto two = open();
  Sequence last = 0;
  for (int i = 0; i < 4; ++i) {
    last = store(*one, last, "one");
    last = store(*two, last, "two");
  }
  CHECK(extent_of(*one).last == last);
}

// --- follow ---

void bytes_are_kept(const OpenLog& open) {
  const auto log = open();
  const auto other = open();
  std::vector<std::string> all = {
      std::string(1, '\0'), std::string("\0a\0\xff'\\\r\n", 8), "x", bytes_of(2000, 3),
      bytes_of(100'000, 4), bytes_of(3 * kMebibyte + 1, 5)};
  Sequence last = 0;
  for (const std::string& bytes : all) last = log->append(last, bytes);
  require_stored(answers_to(*log, all.size()));
  const Entries entries = read(*other, 0, last);
  REQUIRE(entries.size() == all.size());
  Sequence before = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK((entries[i].bytes == all[i]));
    CHECK(entries[i].first == before + 1);
    before = entries[i].last;
  }
  CHECK(before == last);
}

void bounded_chunks(const OpenLog& open) {
  const auto log = open();
  const std::string bytes = bytes_of(10'000, 6);
  Sequence last = 0;
  for (int i = 0; i < 50; ++i) last = log->append(last, bytes);
  require_stored(answers_to(*log, 50));

  const LogService::Chunk one = chunk_of(*log, 0, 1, kLong);
  CHECK(one.entries.size() == 1);
  const LogService::Chunk some = chunk_of(*log, 10, 100'000, kLong);
  REQUIRE(!some.entries.empty());
  CHECK(some.entries.front().first == 11);
  CHECK(some.entries.size() <= 15);
  CHECK(some.seen == some.entries.back().last);
  CHECK(chunk_of(*log, last - 1, 100'000, kLong).entries.size() == 1);
}

void follow_waits(const OpenLog& open) {
  const auto log = open();
  const Sequence last = store_many(*log, 0, 1);
  // To connect takes long on a busy machine.
  (void)extent_of(*log);
  const auto begin = Clock::now();
  const LogService::Chunk chunk = chunk_of(*log, last, 100, milliseconds(300));
  CHECK(Clock::now() - begin >= milliseconds(290));
  CHECK(Clock::now() - begin < kSoon);
  CHECK(chunk.entries.empty());
  CHECK(chunk.seen == last);
  CHECK_FALSE(chunk.is_trimmed);
}

void follow_is_woken(const OpenLog& open) {
  const auto log = open();
  (void)extent_of(*log);
  for (int i = 0; i < 10; ++i) {
    const auto begin = Clock::now();
    const Waker waker(*log);
    CHECK(chunk_of(*log, 0, 100, kLong).entries.empty());
    CHECK(Clock::now() - begin < kSoon);
  }
}

void follow_sees_appends(const OpenLog& open) {
  const auto log = open();
  const auto other = open();
  (void)extent_of(*log);
  const Sequence before = store(*other, 0, "connects");
  for (Sequence last = before; last < before + 5; ++last) {
    Answers stored;
    std::thread thread([&] {
      (void)other->append(last, "news");
      stored = other->answers(kLong);
    });
    const auto begin = Clock::now();
    LogService::Chunk chunk;
    while (chunk.entries.empty() && Clock::now() - begin < kLong) {
      chunk = chunk_of(*log, last, 100, kLong);
    }
    CHECK(Clock::now() - begin < kSoon);
    thread.join();
    REQUIRE(chunk.entries.size() == 1);
    CHECK(chunk.seen == last + 1);
    REQUIRE(stored.size() == 1);
    require_stored(stored);
  }
}

void answers_wait(const OpenLog& open) {
  const auto log = open();
  (void)extent_of(*log);
  auto begin = Clock::now();
  CHECK(log->answers(milliseconds(200)).empty());
  CHECK(Clock::now() - begin >= milliseconds(190));
  for (int i = 0; i < 10; ++i) {
    begin = Clock::now();
    const Waker waker(*log);
    CHECK(log->answers(kLong).empty());
    CHECK(Clock::now() - begin < kSoon);
  }
}

void reopened(const OpenLog& open) {
  Sequence last = 0;
  {
    const auto log = open();
    last = store(*log, store(*log, 0, "one"), "two");
  }
  const auto log = open();
  CHECK(extent_of(*log).last == last);
  const Entries entries = read(*log, 0, last);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].bytes == "one");
  CHECK(entries[1].bytes == "two");
  CHECK(store(*log, last, "three") == last + 1);
}

// --- trim ---

void trimmed(const OpenLog& open) {
  const auto log = open();
  const auto other = open();
  const Sequence last = store_many(*log, 0, 20);
  REQUIRE(log->trim(11));
  const LogService::Extent extent = extent_from(*log, 11);
  CHECK(extent.begin == 11);
  CHECK(extent.last == last);
  for (const Sequence after : {Sequence{0}, Sequence{9}}) {
    const LogService::Chunk chunk = chunk_of(*other, after, 100, kLong);
    CHECK(chunk.is_trimmed);
    CHECK(chunk.entries.empty());
  }
  CHECK(read(*other, 10, last).size() == 10);
  CHECK(store(*log, last, "goes on") == last + 1);
  CHECK(extent_of(*other).begin == 11);
}

void trimmed_again(const OpenLog& open) {
  const auto log = open();
  const Sequence last = store_many(*log, 0, 10);
  for (Sequence before = 2; before <= 8; before += 2) REQUIRE(log->trim(before));
  CHECK(extent_from(*log, 8).begin == 8);
  REQUIRE(log->trim(3));
  CHECK(extent_of(*log).begin == 8);
  CHECK(read(*log, 7, last).size() == 3);
}

void newest_stays(const OpenLog& open) {
  const auto log = open();
  const Sequence last = store_many(*log, 0, 5);
  REQUIRE(log->trim(last));
  const LogService::Extent extent = extent_from(*log, last);
  CHECK(extent.begin == last);
  CHECK(extent.last == last);

  const auto other = open();
  CHECK(extent_of(*other).last == last);
  CHECK(read(*other, last - 1, last).size() == 1);
  CHECK(store(*other, last, "goes on") == last + 1);
}

/// An entry of several messages is removed whole.
void several_trimmed(const OpenLog& open) {
  const auto log = open();
  const std::size_t length = length_of_several(*log);
  if (length == 0) return;
  const Sequence middle = store(*log, 0, bytes_of(length, 7));
  const Sequence last = store(*log, middle, "last");
  REQUIRE(log->trim(last));
  CHECK(extent_from(*log, last).begin == last);
  CHECK(chunk_of(*log, 0, 100, kLong).is_trimmed);
  CHECK(read(*log, middle, last).size() == 1);
}

/// Whether the rest of it stays or goes.
void trimmed_inside(const OpenLog& open) {
  const auto log = open();
  const std::size_t length = length_of_several(*log);
  if (length == 0) return;
  const std::string bytes = bytes_of(length, 8);
  const Sequence first = store(*log, 0, bytes);
  const Sequence second = store(*log, first, bytes);
  const Sequence last = store(*log, second, bytes);
  REQUIRE(log->trim(first + 2));
  const LogService::Extent extent = extent_from(*log, first + 1);
  REQUIRE(extent.begin > first);
  const auto other = open();
  const Entries entries = read(*other, extent.begin - 1, last);
  REQUIRE(!entries.empty());
  for (const LogService::Entry& entry : entries) CHECK((entry.bytes == bytes));
  CHECK(entries.back().first == second + 1);
}

constexpr std::array kCases = {
    ContractCase{"an empty log begins at 1", empty_log},
    ContractCase{"appends are answered in their order, many in flight", answers_in_order},
    ContractCase{"an entry takes as many messages as was said", message_counts},
    ContractCase{"an entry longer than a message is one entry", several_messages},
    ContractCase{"an entry is stored in the messages that it was numbered for", as_numbered},
    ContractCase{"an append that expects another end is refused, and those after it", conflict},
    ContractCase{"after a refused append, none is stored before the caller knows",
                 conflict_unheard},
    ContractCase{"after a refused append, none is stored where it expects another's entry",
                 conflict_behind_a_conflict},
    ContractCase{"of two servers that append, one gets through", race},
    ContractCase{"servers take turns", taking_turns},
    ContractCase{"bytes of every value and length are kept", bytes_are_kept},
    ContractCase{"a chunk is bounded, and has at least one entry", bounded_chunks},
    ContractCase{"follow waits as long as asked", follow_waits},
    ContractCase{"follow is woken", follow_is_woken},
    ContractCase{"follow returns what another server appends", follow_sees_appends},
    ContractCase{"answers waits as long as asked, and is woken", answers_wait},
    ContractCase{"a log that is opened again has everything", reopened},
    ContractCase{"what was trimmed is gone, and followers are told", trimmed},
    ContractCase{"a log is trimmed again and again", trimmed_again},
    ContractCase{"the newest message stays", newest_stays},
    ContractCase{"an entry of several messages is trimmed", several_trimmed},
    ContractCase{"of an entry that is trimmed in part, nothing is seen", trimmed_inside},
};

}  // namespace
}  // namespace contract

std::span<const ContractCase> contract_cases() {
  return contract::kCases;
}

}  // namespace millrace::engines
