#pragma once

namespace millrace::cli {

/// How a change is called.
struct ChangeWords {
  const char* action;        ///< of the API: `retry`, `kill`, `move`, `delete`
  const char* doing;         ///< `deleting`
  const char* done;          ///< `deleted`
  bool is_dangerous = true;  ///< it is made with --yes only, unless the jobs were named
};

}  // namespace millrace::cli
