#pragma once

#include "cli/session.hpp"
#include "cli/verbs/change_words.hpp"

namespace millrace::cli {

/// Changes the jobs that were named by their numbers or jids, one after the other. What cannot be
/// changed is told of, and the others are changed.
Exit change_named(Session& session, const ChangeWords& words);

}  // namespace millrace::cli
