#include "journal/shared/replicated_journal.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {

ReplicatedJournal::ReplicatedJournal(std::unique_ptr<FileJournal> cache,
                                     std::unique_ptr<LogService> service,
                                     ReplicatedJournalOptions options)
    : options_(std::move(options)),
      service_(std::move(service)),
      cache_(std::move(cache)),
      pump_(
          *service_, [this] { wake(); }, [this] { return cache_->durable(); }),
      places_(options_.place_bytes),
      follower_({.options = options_,
                 .service = *service_,
                 .cache = *cache_,
                 .pump = pump_,
                 .places = places_}) {
  CHECK(options_.writer != 0 && options_.log != 0 && options_.now);
  CHECK(options_.node.size() <= kHeadTextBytesMax && options_.notes.size() <= kHeadTextBytesMax);
}

ReplicatedJournal::~ReplicatedJournal() {
  if (leader_) leader_->sync();
  pump_.stop();
  if (thread_.joinable()) thread_.join();
  if (leader_) leader_->note_stored();
}

void ReplicatedJournal::on_durable(std::function<void()> wake) {
  const std::lock_guard guard(wake_mutex_);
  wake_ = std::move(wake);
}

void ReplicatedJournal::wake() {
  const std::lock_guard guard(wake_mutex_);
  if (wake_) wake_();
}

Outcome<Done> ReplicatedJournal::replay(const Visitor& visitor) {
  Outcome<Done> replayed = follower_.replay(visitor);
  if (replayed && !options_.is_stepped) {
    thread_ = std::thread([this] { pump_.run(); });
    pthread_setname_np(thread_.native_handle(), "journal");
  }
  return replayed;
}

Outcome<SharedJournal::Followed> ReplicatedJournal::follow(const Visitor& visitor) {
  CHECK(!leader_);
  Outcome<Followed> followed = follower_.follow(visitor);
  if (followed && *followed == Followed::kLeads) {
    const LogLeader::Parts parts{.options = options_,
                                 .service = *service_,
                                 .cache = *cache_,
                                 .pump = pump_,
                                 .places = places_};
    leader_ = std::make_unique<LogLeader>(parts, follower_.own_claim(), follower_.last());
  }
  return followed;
}

LogLeader& ReplicatedJournal::leading() const {
  CHECK(leader_);
  return *leader_;
}

SharedJournal::Figures ReplicatedJournal::figures() const {
  const Extent cached = cache_->extent();
  Figures figures{.applied = follower_.last(),
                  .lease = follower_.history().leader_lease(),
                  .cache_bytes = cached.end - cached.begin};
  if (leader_) leader_->tell(figures);
  return figures;
}

Journal::Extent ReplicatedJournal::extent() const {
  Extent extent = cache_->extent();
  if (cache_->durable() <= extent.oldest_end) extent.oldest_end = extent.begin;
  return extent;
}

std::size_t ReplicatedJournal::trim(Lsn before) {
  // The cache is written after the service has stored a batch. Where all that is written ends with
  // a segment, the writer has that still open.
  const Lsn written = cache_->durable();
  const std::size_t removed = cache_->trim(std::min(before, written - std::min<Lsn>(written, 1)));
  const std::optional<Sequence> needed = places_.forget_before(cache_->extent().begin);
  if (removed > 0 && leader_ && needed) pump_.trim(*needed);
  return removed;
}

}  // namespace millrace::journal
