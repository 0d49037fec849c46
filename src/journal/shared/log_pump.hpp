#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/model/types.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::journal {

/// Moves entries between one server and a log service, in a thread of its own (`run`), or step by
/// step in a test. A pump follows first: it hands over what other servers append. Once a claim of
/// this server is stored it can be told to lead: then it only sends.
///
/// While it leads, an append that is refused or stays without an answer is in doubt. Whether it was
/// stored is found out by reading, and never guessed: it is sent again only where the log ends
/// before it, and then the same fence holds. Where the log has something else, another server
/// leads, and the pump is deposed for ever.
///
/// The functions are called from several threads: those of one server, and the pump's.
class LogPump {
 public:
  /// `wake` is called from the pump's thread when there is news: entries, something stored, the end
  /// of leading, a change of `problem`. `service` outlives the pump. `written` tells how far the
  /// server's own log is written, from any thread; without it, that is taken to be fast.
  LogPump(LogService& service, std::function<void()> wake, std::function<Lsn()> written = {})
      : service_(service), wake_(std::move(wake)), written_(std::move(written)) {}

  enum class Mode {
    kFollowing,
    kLeading,
    /// Another server leads, or what was appended can never be stored. Nothing is read or sent any
    /// more.
    kDeposed,
    kTrimmed,  ///< the log does not reach back to where this server is
    kSetBack   ///< the log ends before what it had stored: somebody brought an older one back
  };
  [[nodiscard]] Mode mode() const { return mode_.load(); }

  // ---- for the server's thread -----------------------------------------------------------------

  /// Follows from there. Before `run`.
  void start(Sequence after);

  /// What came since the last call. So that memory stays bounded, no more is read ahead than
  /// `kAheadBytes`.
  struct Arrived {
    std::vector<LogService::Entry> entries;  ///< oldest first
    Sequence seen = 0;  ///< the log was looked at up to here, maybe beyond the last entry
  };
  [[nodiscard]] Arrived take_arrived();

  /// Asks where the log ends. `take_end` answers it some time later, once.
  void ask_end();
  [[nodiscard]] std::optional<Sequence> take_end();

  /// Asks to store `claim` after `seen`, which `take_arrived` answered last. What is stored arrives
  /// like all entries. Nothing is done where more has arrived since.
  void claim(Sequence seen, std::string claim);

  /// True from `claim` until it was stored; or was refused or went without an answer, and the log
  /// was read once more.
  [[nodiscard]] bool is_claiming() const;

  /// The claim that ends at `last` has arrived, so this server leads, unless `mode` has changed.
  /// `append` and `trim` may be called from now on.
  void lead(Sequence last);

  /// Sends an entry, whose messages come right behind those of the entry before. It ends at `end`
  /// in the server's own log.
  void append(LogService::Entry entry, Lsn end);

  /// Everything in the server's own log before this is stored by the service.
  [[nodiscard]] Lsn stored() const { return stored_.load(); }

  /// Appends of a leader that were refused, and that went without an answer, so far.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(); }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_.load(); }

  /// Returns when everything before `end` is stored, when it never will be, or after `longest`.
  void wait_until_stored(Lsn end, LogService::Duration longest);

  /// The log needs nothing before that message.
  void trim(Sequence before);

  /// What keeps the pump from its work at present, for people: one line; empty when nothing does.
  /// It may be able to read, and the service says why it stores nothing.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] bool can_read() const;

  /// `run` returns soon. What was appended and not sent is dropped.
  void stop();

  // ---- for the pump's thread -------------------------------------------------------------------

  /// Returns after `stop`.
  void run();

  /// Does one round, and waits for at most `longest` in it. False: nothing is to be done any more.
  bool step(LogService::Duration longest);

  /// No more is read ahead than that, and no more is in flight.
  static constexpr std::size_t kAheadBytes = std::size_t{32} << 20;
  static constexpr std::size_t kInFlightBytes = std::size_t{8} << 20;

  /// What the service has stored is in memory until the server's own log has it. With so much of it
  /// nothing is sent, until a slow disk has caught up.
  static constexpr std::size_t kBehindBytes = std::size_t{64} << 20;

 private:
  struct Outgoing {
    LogService::Entry entry;
    Lsn end = 0;
  };

  void follow(LogService::Duration longest);
  void look_at_end();
  void send_claim();
  void hear_of_claim(LogService::Duration longest);
  [[nodiscard]] bool is_set_back();
  void send();
  [[nodiscard]] bool must_wait_for_disk(Lsn end) const;
  void hear(LogService::Duration longest);
  void settle_doubt(LogService::Duration longest);
  void note_stored(const Outgoing& outgoing);
  void note_problem(const std::string& text);
  void note_refusal(const LogService::Answer& answer);
  void end_refusals();
  void note_text(std::string& kept, const std::string& text);
  void send_trim();
  void enter(Mode mode);
  void wait_for_work(LogService::Duration longest);

  LogService& service_;
  const std::function<void()> wake_;
  const std::function<Lsn()> written_;
  std::atomic<Mode> mode_ = Mode::kFollowing;
  std::atomic<Lsn> stored_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> unknown_ = 0;

  // The pump's own.
  std::deque<Outgoing> in_flight_;  ///< sent and not answered
  std::size_t in_flight_bytes_ = 0;
  Sequence stored_last_ = 0;    ///< where the log ends by now
  std::size_t unanswered_ = 0;  ///< appends
  bool is_in_doubt_ = false;
  bool waits_for_disk_ = false;
  bool has_sent_again_ = false;  ///< since the last entry that was stored
  Sequence trimmed_ = 0;
  std::optional<LogService::Entry> claim_in_flight_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable work_;
  std::condition_variable has_stored_;
  std::vector<LogService::Entry> arrived_;
  std::size_t arrived_bytes_ = 0;
  Sequence seen_ = 0;
  bool is_asked_for_end_ = false;
  std::optional<Sequence> end_;
  std::optional<LogService::Entry> claim_;
  bool is_claiming_ = false;
  std::deque<Outgoing> outgoing_;
  Sequence trim_ = 0;
  std::string problem_;  ///< of reading
  std::string refusal_;  ///< why the last append was not stored, where the service said so
  bool is_stopping_ = false;
};

}  // namespace millrace::journal
