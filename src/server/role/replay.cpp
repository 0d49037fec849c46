#include "server/role/replay.hpp"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/state/batch_reader.hpp"

namespace millrace::server {
namespace {

/// At most this much is decoded ahead, and less than the second is not worth a wake-up. A batch
/// that is longer is applied before the next one is read.
constexpr std::size_t kAheadBytes = std::size_t{4} << 20;
constexpr std::size_t kWorthBytes = std::size_t{256} << 10;

/// Some records of a batch.
struct Portion {
  std::shared_ptr<const std::string> copy;  ///< of the batch; null: the reading thread keeps it
  std::string_view batch;                   ///< the records' views point into it
  Lsn begin = 0;                            ///< of the batch
  std::vector<Record> records;
  bool is_first = false;  ///< of the batch
  bool is_last = false;

  [[nodiscard]] std::size_t bytes() const {
    return records.size() * sizeof(Record) + (is_first ? batch.size() : 0);
  }
};

/// From the reading thread to the applying one.
class Portions {
 public:
  /// Waits while too much is decoded ahead; false when it is closed.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return bytes_ < kAheadBytes || is_closed_; });
    return !is_closed_;
  }

  void push(Portion portion) {
    const std::lock_guard lock(mutex_);
    bytes_ += portion.bytes();
    portions_.push_back(std::move(portion));
    if (bytes_ >= kWorthBytes) pushed_.notify_one();
  }

  /// Waits until all were taken and applied, or it is closed.
  void wait_until_applied() {
    std::unique_lock lock(mutex_);
    is_rest_wanted_ = true;
    pushed_.notify_one();
    taken_.wait(lock, [&] { return !is_rest_wanted_ || is_closed_; });
  }

  /// Waits for some; empty when it is closed and all have been taken. Those of the last call were
  /// applied.
  std::deque<Portion> take() {
    std::unique_lock lock(mutex_);
    pushed_.wait(lock, [&] {
      if (portions_.empty() && std::exchange(is_rest_wanted_, false)) taken_.notify_one();
      return bytes_ >= kWorthBytes || is_rest_wanted_ || is_closed_;
    });
    bytes_ = 0;
    taken_.notify_one();
    return std::exchange(portions_, {});
  }

  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    taken_.notify_one();
    pushed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::condition_variable taken_;
  std::deque<Portion> portions_;
  std::size_t bytes_ = 0;
  bool is_rest_wanted_ = false;  ///< the reading thread waits until all are applied
  bool is_closed_ = false;
};

/// Closes the queue however the reading thread ends, so that the applying one does not wait for it.
class Closer {
 public:
  explicit Closer(Portions& portions) : portions_(portions) {}
  ~Closer() { portions_.close(); }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

 private:
  Portions& portions_;
};

/// Keeps the bytes of a batch until all of it was applied that was pushed, whatever ends the
/// reading.
class Lent {
 public:
  explicit Lent(Portions& portions) : portions_(portions) {}
  ~Lent() { portions_.wait_until_applied(); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  Portions& portions_;
};

Problem given_up() {
  return Problem{"the replay was given up"};
}

/// A batch is copied when there is room for a portion of it, so that the journal can read on. A
/// long one is not: two of them would take too much memory.
Outcome<Done> decode_batch(std::string_view bytes, Lsn begin, Portions& portions) {
  if (!portions.wait_for_room()) return given_up();
  const bool is_long = bytes.size() > kAheadBytes;
  // Its last portion to be applied frees it.
  const auto copy = is_long ? nullptr : std::make_shared<const std::string>(bytes);
  const std::string_view batch = copy ? std::string_view(*copy) : bytes;
  std::optional<Lent> lent;
  if (is_long) lent.emplace(portions);
  BatchReader reader(batch);
  for (bool is_first = true;; is_first = false) {
    Outcome<std::vector<Record>> records = reader.next();
    if (!records) return records.error();
    portions.push({.copy = copy,
                   .batch = batch,
                   .begin = begin,
                   .records = std::move(*records),
                   .is_first = is_first,
                   .is_last = reader.is_done()});
    if (reader.is_done()) return Done{};
    if (!portions.wait_for_room()) return given_up();
  }
}

/// Reads and decodes in a thread of its own. To destroy it ends that thread.
class Reading {
 public:
  explicit Reading(Journal& journal)
      : outcome_(std::async(std::launch::async, [this, &journal] { return read(journal); })) {}
  ~Reading() { portions_.close(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Waits for some; empty when all have been taken.
  std::deque<Portion> take() { return portions_.take(); }

  /// To be asked once, when all have been taken.
  Outcome<Done> outcome() { return outcome_.get(); }

 private:
  Outcome<Done> read(Journal& journal) {
    pthread_setname_np(pthread_self(), "replay");
    const Closer closer(portions_);
    return journal.replay(
        [&](std::string_view batch, Lsn begin) { return decode_batch(batch, begin, portions_); });
  }

  Portions portions_;
  std::future<Outcome<Done>> outcome_;
};

}  // namespace

Outcome<std::uint64_t> replay(Journal& journal, Ledger& ledger,
                              const std::function<bool(Lsn)>& on_step) {
  Reading reading(journal);
  std::uint64_t bytes = 0;
  for (std::deque<Portion> some = reading.take(); !some.empty(); some = reading.take()) {
    for (; !some.empty(); some.pop_front()) {
      Portion& portion = some.front();
      if (!on_step(portion.begin)) return given_up();
      ledger.replay(std::move(portion.records));
      if (!portion.is_last) continue;
      ledger.place(portion.begin);
      bytes += portion.batch.size();
    }
  }
  if (Outcome<Done> read = reading.outcome(); !read) return read.error();
  return bytes;
}

}  // namespace millrace::server
