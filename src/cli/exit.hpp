#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::cli {

/// The exit statuses of verbs that talk to a server.
enum class Exit {
  kDone = 0,
  kRefused = 1,      ///< the server refused, or nothing matched
  kUsage = 2,        ///< wrong arguments
  kUnreachable = 3,  ///< no answer
  kNotUnique = 4,    ///< the job is unique, and is there already
  kInterrupted = 130,
};

/// Why a request has no answer that can be used: one line for a person.
struct Failure {
  Exit exit = Exit::kRefused;
  std::string text;
  int status = 0;  ///< of HTTP; 0: there was no answer
};

template <typename T>
using Reply = Result<T, Failure>;

}  // namespace millrace::cli
