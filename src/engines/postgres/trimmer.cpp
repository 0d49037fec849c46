#include "engines/postgres/trimmer.hpp"

#include <algorithm>

#include "engines/postgres/statements.hpp"

namespace millrace::engines::postgres {

Trimmer::Trimmer(const Target& target, bool allows_unsynced)
    : connection_(target, {.allows_unsynced = allows_unsynced,
                           .allows_no_table = false,
                           .steps = trimming_of(target.table)}) {}

void Trimmer::trim(journal::Sequence before) {
  before_ = std::max(before_, before);
  advance();
}

pollfd Trimmer::interest() const {
  return is_done() ? pollfd{-1, 0, 0} : connection_.interest();
}

Time Trimmer::next() const {
  const bool waits = !is_done() && connection_.state() == Connection::State::kDown;
  return waits ? connection_.next_attempt() : Time::max();
}

/// A step that removes nothing is the last one.
void Trimmer::advance() {
  if (is_done()) return;
  if (connection_.state() == Connection::State::kDown) {
    is_asking_ = false;
    connection_.connect();
  }
  connection_.advance();
  if (connection_.is_ready() && is_asking_) {
    const ResultPointer result = connection_.take_result();
    if (!result) return;
    is_asking_ = false;
    begin_ = PQgetisnull(result.get(), 0, 0) != 0 ? before_ : number_at(result.get(), 0, 0) + 1;
  }
  if (!connection_.is_ready() || is_asking_ || is_done()) return;
  is_asking_ = Parameters().number(begin_).number(before_).send(connection_.raw(), "trim");
  if (!is_asking_) connection_.fail();
}

}  // namespace millrace::engines::postgres
