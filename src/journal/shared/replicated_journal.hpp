#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/ports/shared_journal.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/entry_places.hpp"
#include "journal/shared/log_follower.hpp"
#include "journal/shared/log_leader.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"
#include "journal/shared/replicated_journal_options.hpp"

namespace millrace::journal {

/// The journal of one of several servers, over a log service. It follows the log, until it leads
/// it.
///
/// The service's log is the truth. The file journal in this server's directory is a cache of it:
/// each entry is a frame there, in the same order, and is written only after the service has stored
/// it. So the cache is always a beginning of the log, whatever is lost. It is never synced for a
/// reply. It serves the bodies that are not in memory, and spares a restart from reading more than
/// the end of the log from the service. Positions are those of the cache, and mean nothing to other
/// servers.
///
/// An entry begins with a head (`core/model/entry_head.hpp`).
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
  [[nodiscard]] bool is_cache_useless() const { return follower_.is_cache_useless(); }

  /// While it follows: whether another server has appended since the start, and leads.
  [[nodiscard]] bool hears_leader() const { return follower_.hears_leader(); }

  [[nodiscard]] Outcome<Followed> follow(const Visitor& visitor) override;
  [[nodiscard]] bool has_caught_up() const override { return follower_.has_caught_up(); }
  [[nodiscard]] bool may_claim() const override { return !leader_ && follower_.may_claim(); }
  void claim() override {
    if (!leader_) follower_.claim();
  }
  [[nodiscard]] bool may_answer() const override { return leader_ && leader_->may_answer(); }
  [[nodiscard]] Time may_answer_until() const override {
    return leader_ ? leader_->may_answer_until() : Time{};
  }
  void beat() override { leading().beat(); }
  [[nodiscard]] Time next_beat() const override { return leading().next_beat(); }
  [[nodiscard]] Time lost_at() const override { return leading().lost_at(); }
  void release() override { leading().release(); }
  [[nodiscard]] Time latest_time() const override { return follower_.history().latest_time(); }
  [[nodiscard]] std::optional<Leader> leader() const override {
    return follower_.history().leader();
  }
  [[nodiscard]] std::string problem() const override { return follower_.problem(); }
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] const std::vector<Takeover>& takeovers() const override {
    return follower_.history().takeovers();
  }

  [[nodiscard]] Epoch epoch() const override {
    return leader_ ? leader_->epoch() : follower_.history().epoch();
  }
  [[nodiscard]] Durability durability() const override { return Durability::kWhenSynced; }
  [[nodiscard]] Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    return leading().append(epoch, batch);
  }
  /// When stepped always 0: nothing would be stored while somebody waits for it.
  [[nodiscard]] std::size_t in_flight() const override {
    return leader_ ? leader_->in_flight() : 0;
  }
  [[nodiscard]] Lsn durable() const override {
    return leader_ ? leader_->durable() : cache_->extent().end;
  }
  void on_durable(std::function<void()> wake) override;
  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size) override {
    return cache_->read(begin, size);
  }
  void expect(Lsn begin, std::size_t size) override { cache_->expect(begin, size); }
  /// The oldest segment counts as such once it could be removed.
  [[nodiscard]] Extent extent() const override;
  std::size_t trim(Lsn before) override;

  /// Returns when everything appended is stored by the service, or cannot be: the server is
  /// deposed, or the service does not answer for `kAnswerMax`. Then what is stored is on the disk.
  void sync() override { leading().sync(); }
  [[nodiscard]] const DiskSpace* disk_space() const override { return cache_->disk_space(); }

  /// One round of the pump, and one of the cache's writer. Only with `is_stepped`.
  bool step_pump() { return pump_.step({}); }
  bool step_cache() { return cache_->step(); }

 private:
  [[nodiscard]] LogLeader& leading() const;
  void wake();

  const ReplicatedJournalOptions options_;
  const std::unique_ptr<LogService> service_;
  const std::unique_ptr<FileJournal> cache_;
  std::mutex wake_mutex_;
  std::function<void()> wake_;  ///< under that mutex
  LogPump pump_;
  EntryPlaces places_;
  LogFollower follower_;
  std::unique_ptr<LogLeader> leader_;  ///< null while it follows
  std::thread thread_;                 ///< the pump's; none when stepped
};

}  // namespace millrace::journal
