#include "core/state/batch_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/model/codec.hpp"
#include "core/model/entry_head.hpp"

namespace millrace {
namespace {

/// A guess, for `reserve` only.
constexpr std::size_t kUsualRecordBytes = 32;

}  // namespace

Outcome<std::vector<Record>> BatchReader::next() {
  if (rest_.data() == batch_.data()) {
    // It says whose the batch is, and changes nothing.
    if (const auto head = take_head(rest_); !head) return head.error();
  }
  std::vector<Record> records;
  records.reserve(std::min(kRecordsMax, rest_.size() / kUsualRecordBytes + 1));
  // In pieces: decoding and applying run in two threads, and a batch may have a million records.
  while (!is_done() && records.size() < kRecordsMax) {
    Outcome<Record> record = decode(rest_);
    if (!record) return record.error();
    if (auto* added = std::get_if<JobAdded>(&*record)) {
      // From the batch's beginning: where that is in the log is known when the batch is placed.
      added->body_at = static_cast<Lsn>(rest_.data() - batch_.data()) - added->body.size();
    }
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace millrace
