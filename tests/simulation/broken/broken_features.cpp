#include "simulation/broken/broken_features.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/state/store.hpp"
#include "core/state/throttle/lines.hpp"
#include "simulation/disk/passing_journal.hpp"
#include "simulation/model/command.hpp"

namespace millrace::simulation::broken {
namespace {

constexpr std::uint64_t kOneIn = 20;

/// Any of the jobs that are so; null when none is.
template <typename IsMeant>
const Job* pick(const Ledger& ledger, Random& random, IsMeant&& is_meant) {
  const Jobs& jobs = ledger.store().jobs();
  std::vector<const Job*> found;
  for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
    const Job* const job = jobs.in_slot(slot);
    if (job != nullptr && job->features && is_meant(*job)) found.push_back(job);
  }
  return found.empty() ? nullptr : random.pick(found);
}

void set_lock(Ledger& ledger, const Job& job, bool holds) {
  JobFields fields = job.fields();
  fields.marks = static_cast<std::uint8_t>(fields.marks & ~job_marks::kHoldsLock);
  if (holds) fields.marks |= job_marks::kHoldsLock;
  ledger.commit(JobChanged{.id = job.id, .fields = std::move(fields)});
}

/// So many bytes, three or more, that change nothing: jobs are removed that are not there.
std::string filler(std::size_t bytes) {
  constexpr std::size_t kMost = 9;
  std::string text;
  while (bytes > 0) {
    // None is left that is too short.
    const std::size_t next = bytes <= kMost ? bytes : std::min(kMost, bytes - 5);
    const auto id = (JobId{1} << 7 * (next - 1)) - 1;
    encode(JobRemoved{.id = id}, text);
    bytes -= next;
  }
  return text;
}

/// Leaves some records out of the log, or writes them with the next batch.
class Held final : public PassingJournal {
 public:
  using IsMeant = std::function<bool(const Record& record)>;
  enum class Until { kNextBatch, kForEver };

  Held(Journal& journal, IsMeant is_meant, Until until)
      : PassingJournal(journal), is_meant_(std::move(is_meant)), until_(until) {}

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    const std::string before = std::exchange(held_, {});
    std::string written;
    std::string_view rest = batch;
    while (!rest.empty()) {
      const std::size_t begin = batch.size() - rest.size();
      const Outcome<Record> record = decode(rest);
      CHECK(record.has_value());
      const std::string_view bytes = batch.view().substr(begin, batch.size() - rest.size() - begin);
      const bool is_held = is_meant_(*record);
      (is_held ? held_ : written) += bytes;
      // Bodies are where they would be.
      if (is_held) written += filler(bytes.size());
    }
    if (until_ == Until::kForEver) held_.clear();
    // At the end, so that all else is where it would be.
    written += before;
    if (!written.empty()) batch = std::move(written);
    return PassingJournal::append(epoch, std::move(batch));
  }

 private:
  const IsMeant is_meant_;
  const Until until_;
  std::string held_;
};

/// What is written of a callback is that it is gone.
class UndoneCallbacks final : public PassingJournal {
 public:
  using PassingJournal::PassingJournal;

  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    std::string ends;
    std::string_view rest = batch;
    while (!rest.empty()) {
      const Outcome<Record> record = decode(rest);
      CHECK(record.has_value());
      const auto* const added = std::get_if<JobAdded>(&*record);
      const bool is_callback =
          added != nullptr && added->fields.features && added->fields.features->is_callback();
      if (is_callback) encode(JobRemoved{.id = added->id}, ends);
    }
    return PassingJournal::append(epoch, std::string(batch) + ends);
  }
};

JournalWrap held(Held::IsMeant is_meant, Held::Until until) {
  return [is_meant = std::move(is_meant), until](Journal& journal) {
    return std::make_unique<Held>(journal, is_meant, until);
  };
}

}  // namespace

Meddle foreign_lock_freed() {
  return [processed = std::uint64_t{0}](Ledger& ledger, Random& random) mutable {
    const std::uint64_t before = std::exchange(processed, ledger.store().totals().now().processed);
    if (processed <= before) return;
    const Job* const job = pick(ledger, random, [](const Job& each) {
      return each.has_mark(job_marks::kHoldsLock) && !each.is_held_by_connection();
    });
    if (job != nullptr) set_lock(ledger, *job, false);
  };
}

Meddle lock_kept_by_the_dead() {
  return [](Ledger& ledger, Random& random) {
    const Job* const job = pick(ledger, random, [](const Job& each) {
      return each.state == JobState::kDead && each.features->wants_lock();
    });
    if (job != nullptr && !job->has_mark(job_marks::kHoldsLock)) set_lock(ledger, *job, true);
  };
}

Meddle lock_not_taken_anew() {
  return [](Ledger& ledger, Random& random) {
    const Job* const job = pick(ledger, random, [](const Job& each) {
      const bool is_spread = each.state == JobState::kScheduled && each.tallies().kicks > 0;
      return is_spread && each.has_mark(job_marks::kHoldsLock);
    });
    if (job != nullptr) set_lock(ledger, *job, false);
  };
}

Meddle moved_job_comes_last() {
  return [queues = std::map<JobId, QueueId>{}](Ledger& ledger, Random&) mutable {
    const Jobs& jobs = ledger.store().jobs();
    for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
      const Job* const job = jobs.in_slot(slot);
      if (job == nullptr || job->kind != JobKind::kWorkUnit) continue;
      const auto [known, is_new] = queues.try_emplace(job->id, job->queue);
      const bool is_moved = std::exchange(known->second, job->queue) != job->queue;
      if (is_new || !is_moved || job->state != JobState::kReady) continue;
      JobChanged record{.id = job->id, .fields = job->fields()};
      record.fields.sequence = ledger.store().totals().now().next_id - 1;
      return ledger.commit(std::move(record));
    }
  };
}

Meddle expiry_forgotten() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Job* const job = pick(ledger, random, [](const Job& each) {
      return each.state == JobState::kReady && each.features->expires();
    });
    if (job == nullptr) return;
    static_cast<void>(ledger.store().jobs().load_body(*job));
    const std::string body(job->body_view());
    const std::string queue = ledger.store().queues().at(job->queue).name;
    StoredJob fields = *job;
    fields.marks = static_cast<std::uint8_t>(fields.marks & ~job_marks::kHasAttempts);
    fields.features->expires_at = Time{};
    ledger.commit(
        JobAdded{.id = job->id, .queue = queue, .body = body, .fields = std::move(fields)});
  };
}

Meddle attempts_forgotten() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Jobs& jobs = ledger.store().jobs();
    for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
      const Job* const job = jobs.in_slot(slot);
      if (job == nullptr || !job->has_mark(job_marks::kHasAttempts)) continue;
      if (job->is_held_by_connection()) continue;
      static_cast<void>(jobs.load_body(*job));
      const std::string body(job->body_view());
      const std::string queue = ledger.store().queues().at(job->queue).name;
      StoredJob fields = *job;
      fields.marks = static_cast<std::uint8_t>(fields.marks & ~job_marks::kHasAttempts);
      return ledger.commit(
          JobAdded{.id = job->id, .queue = queue, .body = body, .fields = std::move(fields)});
    }
  };
}

Meddle group_kept() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Jobs& jobs = ledger.store().jobs();
    for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
      const Job* const job = jobs.in_slot(slot);
      if (job == nullptr || job->failure() == nullptr || job->is_held_by_connection()) continue;
      JobChanged record{.id = job->id, .fields = job->fields()};
      record.fields.edit_history().failure->backtrace = {"elsewhere.rb:7"};
      return ledger.commit(std::move(record));
    }
  };
}

Meddle callback_forgotten() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    JobBatches& batches = ledger.store().batches();
    for (const JobBatches::Slot slot : batches.by_creation()) {
      const JobBatch& batch = batches.at(slot);
      if (batch.fields.callback(BatchRole::kComplete) < CallbackState::kEnqueued) continue;
      return batches.edit(batch.id, [](JobBatchFields& fields) {
        fields.set_callback(BatchRole::kComplete, CallbackState::kWaiting);
      });
    }
  };
}

Meddle slot_given_back() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const auto queue_of = [&ledger](const Job& job) -> Queue& {
      return ledger.store().queues().at(job.queue);
    };
    const Job* const job = pick(ledger, random, [&](const Job& each) {
      return each.state == JobState::kReserved && queue_of(each).throttle != nullptr;
    });
    if (job != nullptr) ledger.store().throttles().leave(queue_of(*job), *job);
  };
}

Meddle holder_taken_for_beating() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Job* const job = pick(ledger, random, [](const Job& each) {
      return each.state == JobState::kReserved && each.reservation()->is_held_by_worker();
    });
    if (job == nullptr) return;
    JobFields fields = job->fields();
    fields.marks |= job_marks::kHolderBeats;
    ledger.commit(JobChanged{.id = job->id, .fields = std::move(fields)});
  };
}

Meddle give_back_counted() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Jobs& jobs = ledger.store().jobs();
    for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
      const Job* const job = jobs.in_slot(slot);
      if (job == nullptr || job->state != JobState::kReady) continue;
      const Attempts* const attempts = jobs.attempts_of(*job);
      if (attempts == nullptr || attempts->list.back().end != AttemptEnd::kReleased) continue;
      JobFields fields = job->fields();
      Box<Failure>& failure = fields.edit_history().failure;
      if (failure) {
        ++failure->retry_count;
      } else {
        failure.emplace();
      }
      return ledger.commit(JobChanged{.id = job->id, .fields = std::move(fields)});
    }
  };
}

Meddle slot_of_key_kept() {
  return [](Ledger& ledger, Random& random) {
    if (!random.one_in(kOneIn)) return;
    const Job* const job = pick(ledger, random, [&ledger](const Job& each) {
      const Lines* const lines = ledger.store().queues().at(each.queue).lines;
      return each.state == JobState::kReserved && lines != nullptr && lines->has_keys() &&
             !each.features->key().empty();
    });
    if (job == nullptr) return;
    static_cast<void>(ledger.store().queues().at(job->queue).lines->take_slot(*job));
  };
}

Meddle slot_of_type_given_back() {
  return [](Ledger& ledger, Random& random) {
    ThrottleTable& throttles = ledger.store().throttles().table();
    const Throttle* const type = throttles.find(kLimitedType);
    if (type == nullptr || type->slots.empty() || !random.one_in(kOneIn)) return;
    absl::btree_set<Slot>& slots = throttles.at(type->place).slots;
    slots.erase(slots.begin());
  };
}

JournalWrap counters_in_the_next_batch() {
  return held([](const Record& record) { return std::holds_alternative<JobBatchChanged>(record); },
              Held::Until::kNextBatch);
}

JournalWrap tracks_lost() {
  return held([](const Record& record) { return std::holds_alternative<TrackChanged>(record); },
              Held::Until::kForEver);
}

JournalWrap marks_lost() {
  return held([](const Record& record) { return std::holds_alternative<ErrorMarked>(record); },
              Held::Until::kForEver);
}

JournalWrap marks_lost_in_compaction() {
  // Those that say what is said already.
  return held(
      [marks = std::map<std::uint64_t, ErrorMark>()](const Record& record) mutable {
        if (const auto* const gone = std::get_if<ErrorUnmarked>(&record)) marks.erase(gone->group);
        const auto* const marked = std::get_if<ErrorMarked>(&record);
        return marked != nullptr &&
               std::exchange(marks[marked->group], marked->mark) == marked->mark;
      },
      Held::Until::kForEver);
}

JournalWrap views_lost() {
  return held([](const Record& record) { return std::holds_alternative<ViewSaved>(record); },
              Held::Until::kForEver);
}

JournalWrap views_lost_in_compaction() {
  // Those that are as they were.
  return held(
      [views = std::map<std::string, std::string>()](const Record& record) mutable {
        const auto* const saved = std::get_if<ViewSaved>(&record);
        return saved != nullptr && !saved->query.empty() &&
               std::exchange(views[saved->name], saved->query) == saved->query;
      },
      Held::Until::kForEver);
}

JournalWrap changes_lost() {
  return held([](const Record& record) { return std::holds_alternative<ChangeNoted>(record); },
              Held::Until::kForEver);
}

JournalWrap counts_of_changes_lost() {
  return held(
      [](const Record& record) {
        const auto* const noted = std::get_if<ChangeNoted>(&record);
        return noted != nullptr && noted->change->outcome == ChangeOutcome::kCounted;
      },
      Held::Until::kForEver);
}

JournalWrap changes_lost_in_compaction() {
  // Those that are as they were.
  return held(
      [changes = std::map<std::uint64_t, Box<Change>>()](const Record& record) mutable {
        const auto* const noted = std::get_if<ChangeNoted>(&record);
        return noted != nullptr &&
               std::exchange(changes[noted->number], noted->change) == noted->change;
      },
      Held::Until::kForEver);
}

JournalWrap tokens_lost() {
  return held([](const Record& record) { return std::holds_alternative<TokenAdded>(record); },
              Held::Until::kForEver);
}

JournalWrap revoked_tokens_back() {
  return held([](const Record& record) { return std::holds_alternative<TokenRemoved>(record); },
              Held::Until::kForEver);
}

JournalWrap tokens_lost_in_compaction() {
  // Those that are as they were.
  return held(
      [tokens = std::map<std::string, Box<Token>>()](const Record& record) mutable {
        if (const auto* const gone = std::get_if<TokenRemoved>(&record)) {
          tokens.erase(std::string(gone->hash));
        }
        const auto* const added = std::get_if<TokenAdded>(&record);
        return added != nullptr &&
               std::exchange(tokens[added->token->hash], added->token) == added->token;
      },
      Held::Until::kForEver);
}

JournalWrap ended_pushes_lost() {
  return held([](const Record& record) { return std::holds_alternative<PushEnded>(record); },
              Held::Until::kForEver);
}

JournalWrap finished_jobs_lost() {
  return held([](const Record& record) { return std::holds_alternative<JobFinished>(record); },
              Held::Until::kForEver);
}

JournalWrap finished_jobs_in_the_next_batch() {
  return held([](const Record& record) { return std::holds_alternative<JobFinished>(record); },
              Held::Until::kNextBatch);
}

JournalWrap finished_jobs_lost_in_compaction() {
  // Those that are written once more, as the others have a higher number each time.
  return held(
      [highest = std::uint64_t{0}](const Record& record) mutable {
        const auto* const finished = std::get_if<JobFinished>(&record);
        if (finished == nullptr) return false;
        const bool is_old = finished->number <= highest;
        highest = std::max(highest, finished->number);
        return is_old;
      },
      Held::Until::kForEver);
}

JournalWrap moves_lost() {
  return held(
      [queues = std::map<JobId, std::string>{}](const Record& record) mutable {
        const auto* const added = std::get_if<JobAdded>(&record);
        if (added == nullptr) return false;
        const auto [known, is_new] = queues.try_emplace(added->id, added->queue);
        return !is_new && known->second != added->queue;
      },
      Held::Until::kForEver);
}

JournalWrap callbacks_lost() {
  return [](Journal& journal) { return std::make_unique<UndoneCallbacks>(journal); };
}

}  // namespace millrace::simulation::broken
