#include "engines/postgres/reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engines/postgres/statements.hpp"

namespace millrace::engines::postgres {
namespace {

using journal::kAnswerMax;
using journal::LogService;
using journal::Sequence;
using Chunk = LogService::Chunk;

/// For what is being asked when the waker wakes: mostly it is about to come.
constexpr std::chrono::milliseconds kGrace(50);
constexpr const char* kSilent = "the server does not answer";

/// Adds the rows to the chunk. The last entry may go on in further rows: it is in `open`. False
/// when a row is missing.
bool add_rows(const PGresult& rows, Chunk& chunk, LogService::Entry& open) {
  for (int row = 0; row < PQntuples(&rows); ++row) {
    const Sequence sequence = number_at(&rows, row, 0);
    if (sequence != std::max(chunk.seen, open.last) + 1) return false;
    if (open.first == 0) open.first = sequence;
    open.last = sequence;
    open.bytes.append(PQgetvalue(&rows, row, 2),
                      static_cast<std::size_t>(PQgetlength(&rows, row, 2)));
    if (number_at(&rows, row, 1) == 0) continue;
    chunk.seen = sequence;
    chunk.entries.push_back(std::exchange(open, {}));
  }
  return true;
}

}  // namespace

Reader::Reader(const Target& target, bool allows_unsynced, Waker& waker)
    : connection_(target, {.allows_unsynced = allows_unsynced,
                           .allows_no_table = false,
                           .steps = reading_from(target.table)}),
      waker_(waker) {}

/// A server that was replaced and does not know it cannot settle, since it has lost its standby.
Outcome<LogService::Extent> Reader::extent() {
  const auto settled = ask("settle", {}, Hearing::kDeaf);
  if (!settled) return settled.error();
  if (connection_.was_warned()) {
    connection_.drop(kDidNotWait);
    return connection_.problem();
  }
  const auto row = ask("extent", {}, Hearing::kDeaf);
  if (!row) return row.error();
  const PGresult* result = row.value().get();
  if (PQgetisnull(result, 0, 1) != 0) return LogService::Extent{};
  return LogService::Extent{.begin = number_at(result, 0, 0), .last = number_at(result, 0, 1)};
}

Outcome<std::optional<Chunk>> Reader::look(Sequence after, std::size_t bytes_max) {
  Chunk chunk{.entries = {}, .seen = after, .is_trimmed = false};
  LogService::Entry open;
  do {
    Parameters parameters;
    parameters.number(std::max(after, open.last));
    parameters.number(std::clamp<std::size_t>(bytes_max, 1, std::size_t{1} << 30));
    const auto rows = ask("follow", parameters, Hearing::kHears);
    if (!rows) return rows.error();
    if (!rows.value()) return std::optional<Chunk>();
    if (PQntuples(rows.value().get()) == 0) break;
    if (!add_rows(*rows.value(), chunk, open)) {
      if (chunk.entries.empty()) chunk.is_trimmed = true;
      break;
    }
  } while (chunk.entries.empty());
  return std::optional(std::move(chunk));
}

Outcome<ResultPointer> Reader::ask(const char* statement, const Parameters& parameters,
                                   Hearing hearing) {
  grace_end_.reset();
  const auto ready = get_ready(hearing);
  if (!ready) return ready.error();
  if (!ready.value()) return ResultPointer(nullptr, &PQclear);
  if (!parameters.send(connection_.raw(), statement)) {
    connection_.fail();
    return connection_.problem();
  }
  is_asking_ = true;
  return result_of_asking(hearing);
}

Outcome<ResultPointer> Reader::result_of_asking(Hearing hearing) {
  ResultPointer result = connection_.take_result();
  while (!result && connection_.is_ready()) {
    // The time begins again whenever something comes: a long answer takes long.
    const Waited waited = wait(Clock::now() + kAnswerMax, hearing);
    if (waited == Waited::kRang) return result;
    if (waited == Waited::kLate) connection_.drop(kSilent);
    if (connection_.is_ready()) result = connection_.take_result();
  }
  is_asking_ = false;
  if (!result) return connection_.problem();
  return result;
}

/// An attempt to connect goes on in the next call.
Outcome<bool> Reader::get_ready(Hearing hearing) {
  using State = Connection::State;
  if (connection_.is_ready() && is_asking_) {
    const auto old = result_of_asking(hearing);
    if (old && !old.value()) return false;
  }
  is_asking_ = false;
  const Time until = Clock::now() + kAnswerMax;
  bool has_tried = connection_.state() != State::kDown;
  for (;;) {
    connection_.advance();
    if (connection_.is_ready()) return true;
    if (connection_.state() == State::kDown) {
      if (has_tried) return connection_.problem();
      has_tried = connection_.connect();
    }
    const bool is_down = connection_.state() == State::kDown;
    const Time next = is_down ? std::min(until, connection_.next_attempt()) : until;
    if (wait(next, hearing) == Waited::kRang) {
      // Nothing was read: what ended the connection still holds.
      if (connection_.problem().text.empty()) return false;
      return connection_.problem();
    }
    if (Clock::now() < until) continue;
    Problem silent{std::string("PostgreSQL: ") + kSilent};
    silent.is_passing = true;
    return silent;
  }
}

Reader::Waited Reader::wait(Time until, Hearing hearing) {
  Time end = until;
  if (hearing == Hearing::kHears && waker_.is_woken()) {
    if (!grace_end_) grace_end_ = Clock::now() + kGrace;
    end = std::min(end, *grace_end_);
    if (Clock::now() >= *grace_end_) return Waited::kRang;
  }
  if (Clock::now() >= end) return Waited::kLate;
  const bool came = waker_.wait({connection_.interest()}, end);
  return came || Clock::now() < until ? Waited::kLooked : Waited::kLate;
}

}  // namespace millrace::engines::postgres
