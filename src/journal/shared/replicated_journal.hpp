#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/model/entry_head.hpp"
#include "core/ports/shared_journal.hpp"
#include "journal/file/file_journal.hpp"
#include "journal/shared/catch_up.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::journal {

struct ReplicatedJournalOptions {
  std::string node;          ///< the name of this server among those that share the log
  std::string notes;         ///< what other servers are to know of it
  std::uint64_t writer = 0;  ///< random: names this process
  std::uint64_t log = 0;     ///< random: names the log, if this server is the first in it
  Duration lease = std::chrono::seconds(1);
  std::function<Time()> now;  ///< the server's clock; asked by its thread only, and
                              ///< by the destructor

  /// Claims with `EntryHead::Kind::kHold`: no server leads until it releases, even if it ends.
  bool holds = false;

  /// Of the entries in so many bytes of the cache, the place of one is remembered: so far the log
  /// is trimmed.
  std::uint64_t place_bytes = 64 * 1024;

  /// The pump has no thread of its own: `step` runs it. So a simulation chooses every order.
  bool is_stepped = false;
};

/// The journal of one of several servers, over a log service.
///
/// The service's log is the truth. The file journal in this server's directory is a cache of it:
/// each entry is a frame there, in the same order, and is written only after the service has stored
/// it. So the cache is always a beginning of the log, whatever is lost. It is never synced for a
/// reply. It serves the bodies that are not in memory, and spares a restart from reading more than
/// the end of the log from the service. Positions are those of the cache, and mean nothing to other
/// servers.
///
/// An entry begins with a head (`core/model/entry_head.hpp`), which this class alone writes and
/// checks.
class ReplicatedJournal final : public SharedJournal {
 public:
  /// `cache` has its `replay` still to come, and is not synced for replies.
  ReplicatedJournal(std::unique_ptr<FileJournal> cache, std::unique_ptr<LogService> service,
                    ReplicatedJournalOptions options);
  /// As `sync`. What was stored by then is in the cache.
  ~ReplicatedJournal() override;
  ReplicatedJournal(const ReplicatedJournal&) = delete;
  ReplicatedJournal& operator=(const ReplicatedJournal&) = delete;

  /// Hands over what the cache has. A problem, besides those of a file journal: the cache is none
  /// of this log, see `is_cache_useless`.
  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor) override;

  /// After a failed `replay`, and after `Followed::kUseless`: the directory may be emptied, and
  /// filled anew from the log. Never true where it has jobs that are not in the log, but those that
  /// the log lost before it went on without them.
  [[nodiscard]] bool is_cache_useless() const { return is_cache_useless_; }

  /// While it follows: whether another server has appended since the start, and leads.
  [[nodiscard]] bool hears_leader() const;

  [[nodiscard]] Outcome<Followed> follow(const Visitor& visitor) override;
  [[nodiscard]] bool has_caught_up() const override { return catch_up_.is_over(); }
  [[nodiscard]] bool may_claim() const override;
  void claim() override;
  [[nodiscard]] bool may_answer() const override;
  void beat() override;
  [[nodiscard]] Time next_beat() const override;
  [[nodiscard]] Time lost_at() const override;
  void release() override;
  [[nodiscard]] Time latest_time() const override { return latest_time_; }
  [[nodiscard]] std::optional<Leader> leader() const override { return leader_; }
  [[nodiscard]] std::string problem() const override;
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] const std::vector<Takeover>& takeovers() const override { return takeovers_; }

  [[nodiscard]] Epoch epoch() const override;
  [[nodiscard]] Durability durability() const override { return Durability::kWhenSynced; }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, std::string batch) override;
  /// When stepped always 0: nothing would be stored while somebody waits for it.
  [[nodiscard]] std::size_t in_flight() const override;
  [[nodiscard]] Lsn durable() const override;
  void on_durable(std::function<void()> wake) override;
  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override;
  void expect(Lsn begin, std::size_t size) override { cache_->expect(begin, size); }
  /// The oldest segment counts as such once it could be removed.
  [[nodiscard]] Extent extent() const override;
  std::size_t trim(Lsn before) override;

  /// Returns when everything appended is stored by the service, or cannot be: the server is
  /// deposed, or the service does not answer for `kAnswerMax`. Then what is stored is on the disk.
  void sync() override;
  [[nodiscard]] const DiskSpace* disk_space() const override { return cache_->disk_space(); }

  /// One round of the pump, and one of the cache's writer. Only with `is_stepped`.
  bool step_pump() { return pump_.step({}); }
  bool step_cache() { return cache_->step(); }

 private:
  /// Where an entry is in the cache, and in the log.
  struct Place {
    Lsn begin = 0;
    Sequence first = 0;
  };
  struct Sent {
    Lsn end = 0;
    Sequence last = 0;
    Time at{};
  };

  Outcome<Done> take_cached(std::string_view entry, Lsn begin);
  Outcome<Done> begin_to_follow();
  Outcome<Done> take_entry(const LogService::Entry& entry, const Visitor& visitor);
  [[nodiscard]] bool is_of_namesake(const EntryHead& head) const;
  [[nodiscard]] bool is_stray(const EntryHead& head) const;
  Outcome<Done> verify_cache(const EntryHead& head);
  Outcome<Done> note_head(const EntryHead& head);
  Problem other_history(Sequence sequence, const std::string& what);
  Outcome<Followed> tell_broken();
  void note_takeover(const EntryHead& head);
  void note_leader(const EntryHead& head);
  void note_sent(const EntryHead& head);
  void note_place(Lsn begin, Sequence first);
  [[nodiscard]] EntryHead next_head(EntryHead::Kind kind) const;
  Span put(EntryHead::Kind kind, std::string_view batch);
  void begin_to_lead();
  void note_stored() const;
  void wake();

  const ReplicatedJournalOptions options_;
  const std::unique_ptr<LogService> service_;
  const std::unique_ptr<FileJournal> cache_;
  std::mutex wake_mutex_;
  std::function<void()> wake_;  ///< under that mutex

  // What the log tells.
  std::uint64_t log_ = 0;     ///< its name; 0: no entry was seen
  Sequence last_ = 0;         ///< of the last entry that was handed over or appended
  Sequence counted_ = 0;      ///< the same, without those that do not count
  Epoch newest_{};            ///< of that entry
  std::uint64_t writer_ = 0;  ///< the process that leads in it
  std::optional<Leader> leader_;
  std::vector<Takeover> takeovers_;
  Time latest_time_{};
  std::deque<Place> places_;  ///< of some entries, in order
  bool is_cache_useless_ = false;
  std::optional<Problem> broken_;
  bool has_other_history_ = false;  ///< that is why it is broken, and reading anew helps

  // A server that follows.
  Duration leader_lease_{};             ///< as the leader told it; none: not known
  Sequence seen_ = 0;                   ///< the log was looked at up to here
  Sequence former_end_ = 0;             ///< where the log ended at the start
  std::optional<EntryHead> cached_;     ///< the cache's last entry, until it was found in the log
  bool had_cache_ = false;              ///< something was read from it
  Time quiet_since_{};                  ///< when something new was seen last
  std::optional<Time> sent_at_;         ///< the last entry, by the clock of its writer
  Time sent_until_{};                   ///< by ours it was sent until then
  std::optional<Time> started_at_;      ///< when it began to follow
  std::optional<EntryHead> own_claim_;  ///< the last entry in the log
  std::optional<Time> claimed_at_;      ///< last; an engine without a leader refuses at once

  // A server that leads.
  std::optional<Epoch> epoch_;
  Lsn led_from_ = 0;  ///< everything in the cache before it is stored
  bool has_released_ = false;
  Time last_append_at_{};
  Time last_beat_at_{};
  mutable Lsn released_ = 0;          ///< the cache may have everything before it
  mutable std::deque<Sent> sent_;     ///< and not stored, as far as was looked
  mutable Time lease_from_{};         ///< when what was stored last was appended
  mutable Sequence stored_last_ = 0;  ///< the last message of that
  mutable Histogram appends_;         ///< how long each took
  mutable Duration last_append_{};

  LogPump pump_;
  CatchUp catch_up_{pump_};
  std::thread thread_;  ///< none when stepped
};

/// A server that follows claims the lead when it has heard nothing for so much longer than the
/// lease. Clocks that run apart by less than that in a lease do no harm.
inline constexpr Duration lease_margin(Duration lease) {
  return lease / 4;
}

/// A server that has read another history than the log has now reads it anew when it has followed
/// for so long: a log that changes again and again does not keep it busy.
inline constexpr Duration kReadAnewAfter = std::chrono::seconds(10);

/// A leader with nothing to append beats so often.
inline constexpr Duration beat_interval(Duration lease) {
  return lease / 4;
}

}  // namespace millrace::journal
