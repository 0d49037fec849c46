#include "journal/volatile/volatile_journal.hpp"

#include "base/check.hpp"

namespace millrace::journal {

Outcome<Done> VolatileJournal::replay(const Visitor& /*visitor*/) {
  return Done{};
}

Result<Journal::Span, Deposed> VolatileJournal::append(Epoch epoch, RecordBatch batch) {
  CHECK(epoch == kOnlyEpoch && !batch.empty());
  const Lsn begin = end_;
  // Positions grow as in a real log, so that replies can wait for them. All is durable at once.
  end_ += batch.size();
  return Span{.begin = begin, .end = end_};
}

Lsn VolatileJournal::durable() const {
  return end_;
}

void VolatileJournal::on_durable(std::function<void()> /*wake*/) {}

Outcome<std::string> VolatileJournal::read(Lsn /*begin*/, std::size_t /*size*/) {
  // Never asked for: without a log, bodies stay in memory.
  return Problem{"a volatile journal keeps nothing to read"};
}

void VolatileJournal::expect(Lsn /*begin*/, std::size_t /*size*/) {}

Journal::Extent VolatileJournal::extent() const {
  // An empty log at its end: compaction has nothing to do.
  return {.begin = end_, .oldest_end = end_, .end = end_};
}

std::size_t VolatileJournal::trim(Lsn /*before*/) {
  return 0;
}

void VolatileJournal::sync() {}

}  // namespace millrace::journal
