#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/entry_head.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::journal {

/// Puts the batches of a journal into a log that has none. The log is held meanwhile, so that no
/// server leads it with a part of the jobs. Short batches are joined: an engine stores few long
/// entries much faster than many short ones. What becomes of an append without an answer is found
/// out by reading.
///
/// What ended half-way is gone on with: another filler of the same name is given the same batches,
/// compares those that the log has, and appends the others. The order is `begin`, `add` for each
/// batch, `settle`, `release`. After a problem the filler is of no use.
class LogFiller {
 public:
  struct Options {
    std::string name;          ///< of the journal; 1 to 4096 bytes
    std::uint64_t writer = 0;  ///< random
    std::uint64_t log = 0;     ///< random: names the log
    std::function<Time()> now;
    Duration patience = std::chrono::seconds(60);  ///< with an engine that stores nothing
    std::size_t joined_bytes = std::size_t{256} << 10;
  };

  /// `service` outlives the filler.
  LogFiller(LogService& service, Options options)
      : service_(service), options_(std::move(options)), pump_(service, [] {}) {}

  /// A problem that is passing: the log has something that was not there when this began, maybe of
  /// a former filler. Another filler may go on. Else the log has something else, or cannot be
  /// reached.
  [[nodiscard]] Outcome<Done> begin();

  /// Adds a batch of the journal, with or without the head of a shared log.
  [[nodiscard]] Outcome<Done> add(std::string_view batch);

  /// Waits until everything is stored.
  [[nodiscard]] Outcome<Done> settle();

  /// Servers may lead from now on.
  [[nodiscard]] Outcome<Done> release();

  /// After `release`: nothing was appended, since the log had everything already.
  [[nodiscard]] bool was_done() const { return !has_appended_; }

  /// How many batches were added, those that the log had included.
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

 private:
  Outcome<Done> put(EntryHead::Kind kind, std::string_view batch);
  Outcome<Done> append(EntryHead::Kind kind, std::string_view batch);
  bool is_next_hold(const EntryHead& head) const;
  Outcome<std::optional<LogService::Entry>> next_present();
  Outcome<Done> compare(const LogService::Entry& entry, EntryHead::Kind kind,
                        std::string_view batch);
  Outcome<Done> put_joined();
  Outcome<Done> wait_until_stored(Lsn end);
  [[nodiscard]] Problem no_answer() const;

  LogService& service_;
  Options options_;
  Sequence present_last_ = 0;  ///< the log had entries up to here when this began
  Sequence read_to_ = 0;
  std::deque<LogService::Entry> present_;  ///< of these, those that were read and not compared
  Sequence last_ = 0;                      ///< of the entry that was put or compared last
  std::uint64_t epoch_ = 1;
  std::string joined_;    ///< batches that were added and not put
  LogPump pump_;          ///< leads, from the first append on
  Lsn appended_end_ = 0;  ///< bytes of all appends
  std::uint64_t batches_ = 0;
  bool has_appended_ = false;
};

}  // namespace millrace::journal
