#pragma once

#include <functional>
#include <memory>

#include "core/broker/broker.hpp"
#include "core/ports/journal.hpp"
#include "journal/file/file_system.hpp"
#include "simulation/random.hpp"

/// Servers that are broken on purpose, to be put into a world: each makes one mistake that the
/// simulation must find.
namespace millrace::simulation::broken {

using JournalWrap = std::function<std::unique_ptr<Journal>(Journal&)>;
using DiskWrap = std::function<std::unique_ptr<journal::FileSystem>(journal::FileSystem&)>;

/// Calls durable what was only appended, so that replies leave before the sync.
JournalWrap reply_before_sync();

/// Leaves the last record out of one batch in so many.
JournalWrap dropped_record(std::uint64_t one_in);

/// Leaves one batch out of a replay.
JournalWrap forgetful_replay();

/// Frees the log up to the last batch, once in so many batches.
JournalWrap early_trim(std::uint64_t one_in);

/// Of what is read back, one in so many has a flipped bit.
JournalWrap untrue_read(std::uint64_t one_in);

/// What is obsolete stays.
JournalWrap no_trim();

/// The same, on a full disk only.
JournalWrap no_trim_when_full();

/// Does not notice that another server leads, and answers as if its batches were stored.
JournalWrap deaf_leader();

/// Says that files were synced, and does nothing.
DiskWrap skipped_sync();

/// The same for directories.
DiskWrap skipped_directory_sync();

/// Does not look whether the directory is still in its place.
DiskWrap careless_lock();

/// A backup shares all segments but the newest, also one that may still be written to.
DiskWrap shared_segments();

/// Changes a job's priority without a record, once in so many steps.
void apply_outside_of_the_log(Ledger& ledger, Random& random, std::uint64_t one_in);

}  // namespace millrace::simulation::broken
