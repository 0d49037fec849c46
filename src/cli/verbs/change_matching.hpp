#pragma once

#include "cli/session.hpp"
#include "cli/verbs/change_words.hpp"

namespace millrace::cli {

/// Counts the jobs that match the filters, and changes these, as far as they are still as they were
/// counted. What is dangerous is only counted, unless a person has agreed.
Exit change_matching(Session& session, const ChangeWords& words);

}  // namespace millrace::cli
