#pragma once

#include <string>

#include "cli/session.hpp"

namespace millrace::cli {

/// The status of a failure to find a job.
inline constexpr int kNotFound = 404;

/// What is known of the job that a person named.
struct NamedJob {
  Answer answer;
  enum class Kind {
    kJob,       ///< JobDetail of the API
    kFinished,  ///< Finished
    kSeveral,   ///< Namesakes: several jobs have that jid
  };
  Kind kind = Kind::kJob;
};

/// Digits are the number of a job, or its jid if there is no such number. Everything else is a jid.
/// A failure: there is no such job.
[[nodiscard]] Reply<NamedJob> find_job(Session& session, const std::string& name);

}  // namespace millrace::cli
