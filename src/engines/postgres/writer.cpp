#include "engines/postgres/writer.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "engines/postgres/statements.hpp"

namespace millrace::engines::postgres {
namespace {

using journal::kAnswerMax;
using journal::LogService;
using journal::Sequence;

constexpr const char* kNoCommit =
    "the server does not answer a commit: perhaps it waits for a synchronous standby";

/// Transactions in flight. The server syncs them one after another: with two, what comes waits for
/// two syncs instead of one, and 8 entries in flight take half as long again.
constexpr std::size_t kGroupsMax = 1;
/// Beyond either, an entry is left for the next transaction.
constexpr std::size_t kGroupEntriesMax = 64;
constexpr std::size_t kGroupBytesMax = std::size_t{1024} * 1024;
/// Given to libpq before the socket is asked to take it.
constexpr std::size_t kUnflushedBytesMax = std::size_t{256} * 1024;

}  // namespace

Writer::Writer(const Target& target, bool allows_unsynced)
    : connection_(target, {.allows_unsynced = allows_unsynced,
                           .allows_no_table = false,
                           .steps = writing_to(target.table)}) {}

void Writer::append(Entry entry) {
  // It counts on an entry whose refusal the caller has not heard of. It would be stored where the
  // entries of another server end just there.
  if (refusing_) return answers_.push_back({entry.last, *refusing_, {}});
  if (entries_.empty()) last_sign_ = Clock::now();
  entries_.push_back(std::move(entry));
  advance();
}

pollfd Writer::interest() const {
  return entries_.empty() ? pollfd{-1, 0, 0} : connection_.interest();
}

Time Writer::next() const {
  if (entries_.empty()) return Time::max();
  const Time late = last_sign_ + kAnswerMax;
  const bool is_down = connection_.state() == Connection::State::kDown;
  return is_down ? std::min(late, connection_.next_attempt()) : late;
}

std::vector<LogService::Answer> Writer::take_answers() {
  refusing_.reset();
  return std::exchange(answers_, {});
}

void Writer::advance() {
  if (entries_.empty()) return;
  if (connection_.is_ready()) receive();
  // With nothing to send, nobody would go on to connect. A server that is about to end waits for
  // such a client: for a minute, in which it takes no other.
  if (entries_.empty()) return;
  if (connection_.state() == Connection::State::kDown) connection_.connect();
  connection_.advance();
  if (connection_.is_ready()) send();
  if (entries_.empty() || Clock::now() - last_sign_ <= kAnswerMax) return;
  // One that is down knows better why.
  if (connection_.state() != Connection::State::kDown) lose(kNoCommit);
  refuse_all(Refusal::kUnknown);
}

void Writer::send() {
  if (PQpipelineStatus(connection_.raw()) == PQ_PIPELINE_OFF &&
      PQenterPipelineMode(connection_.raw()) != 1) {
    return lose("");
  }
  if (is_conflict_ && (group_entries_ > 0 || next_row_ > 0)) end_group();
  while (!is_conflict_ && groups_ < kGroupsMax && sent_ < entries_.size()) {
    if (unflushed_bytes_ > kUnflushedBytesMax) {
      if (PQflush(connection_.raw()) != 0) return;
      unflushed_bytes_ = 0;
      last_sign_ = Clock::now();
    }
    if (!send_row()) return lose("");
    const bool is_full = group_entries_ == kGroupEntriesMax || group_bytes_ >= kGroupBytesMax;
    if (next_row_ == 0 && (is_full || sent_ == entries_.size())) end_group();
  }
  if (connection_.is_ready()) PQflush(connection_.raw());
}

/// Sends the next row of the first entry that was not sent whole.
bool Writer::send_row() {
  Entry& entry = entries_[sent_];
  if (next_row_ == 0) next_row_ = entry.first;
  const std::string_view part = entry.part(next_row_);
  const bool is_chained = sent_ > 0 || next_row_ > entry.first;
  Parameters parameters;
  parameters.number(next_row_).boolean(next_row_ == entry.last).text(connection_.id());
  parameters.bytes(part).boolean(is_chained);
  if (!parameters.send(connection_.raw(), "append")) return false;
  unflushed_bytes_ += part.size();
  group_bytes_ += part.size();
  if (next_row_++ < entry.last) return true;
  next_row_ = 0;
  entry.bytes = {};
  ++sent_;
  ++group_entries_;
  return true;
}

void Writer::end_group() {
  if (PQpipelineSync(connection_.raw()) != 1) return lose("");
  ++groups_;
  group_entries_ = 0;
  group_bytes_ = 0;
}

void Writer::receive() {
  if (PQflush(connection_.raw()) < 0 || PQconsumeInput(connection_.raw()) != 1) return lose("");
  int ends = 0;  // of the results of one statement; two in a row: nothing is in flight
  while (connection_.is_ready() && ends < 2 && PQisBusy(connection_.raw()) == 0) {
    const ResultPointer result(PQgetResult(connection_.raw()), &PQclear);
    ends = result ? 0 : ends + 1;
    if (result) take_result(*result);
  }
}

void Writer::take_result(const PGresult& result) {
  last_sign_ = Clock::now();
  switch (PQresultStatus(&result)) {
    case PGRES_COMMAND_OK:
      if (std::string_view(PQcmdTuples(const_cast<PGresult*>(&result))) == "1") {
        ++rows_stored_;
      } else {
        is_conflict_ = true;
      }
      break;
    case PGRES_PIPELINE_SYNC:
      finish_group();
      break;
    default:
      lose(text_of(result));
  }
}

/// The transaction was committed, as far as its rows were stored.
void Writer::finish_group() {
  CHECK(groups_ > 0);
  if (connection_.was_warned()) return lose(kDidNotWait);
  --groups_;
  while (rows_stored_ > 0) {
    const Entry& entry = entries_.front();
    const Sequence rows = entry.last - entry.first + 1;
    // Somebody else has put rows into the table.
    if (rows_stored_ < rows) return lose("the table of the log has rows of somebody else");
    rows_stored_ -= rows;
    answers_.push_back({entry.last, std::nullopt, {}});
    entries_.pop_front();
    --sent_;
  }
  if (is_conflict_ && groups_ == 0) refuse_all(Refusal::kConflict);
}

void Writer::refuse_all(Refusal refusal) {
  const bool is_known = refusal == Refusal::kConflict;
  const std::string why = is_known ? std::string() : connection_.problem().text;
  for (const Entry& entry : entries_) answers_.push_back({entry.last, refusal, why});
  refusing_ = refusal;
  entries_.clear();
  groups_ = sent_ = next_row_ = unflushed_bytes_ = group_entries_ = group_bytes_ = 0;
  rows_stored_ = 0;
  is_conflict_ = false;
}

/// Entries of which nothing was sent wait for the next connection.
void Writer::lose(std::string why) {
  if (why.empty()) {
    connection_.fail();
  } else {
    connection_.drop(std::move(why));
  }
  unflushed_bytes_ = 0;
  if (sent_ > 0 || next_row_ > 0) refuse_all(is_conflict_ ? Refusal::kConflict : Refusal::kUnknown);
}

}  // namespace millrace::engines::postgres
