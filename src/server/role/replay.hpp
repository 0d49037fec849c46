#pragma once

#include <cstdint>
#include <functional>

#include "core/ports/journal.hpp"
#include "core/state/ledger.hpp"

namespace millrace::server {

/// Reads the whole log into the ledger, and answers how many bytes of batches it had. A second
/// thread reads and decodes ahead of the caller's, which applies: each is about half of the work.
///
/// `on_step` is called in the caller's thread with a position of the log that has been reached.
/// Nothing else may use the journal meanwhile. A problem of the journal or of a batch leaves the
/// ledger with what was read before.
[[nodiscard]] Outcome<std::uint64_t> replay(Journal& journal, Ledger& ledger,
                                            const std::function<bool(Lsn)>& on_step);

}  // namespace millrace::server
