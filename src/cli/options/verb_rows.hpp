#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/choice.hpp"
#include "cli/exit.hpp"
#include "cli/value_hint.hpp"

/// The table of the verbs that talk to a running server, and of their options. Help, manual page
/// and completions come from it.
namespace millrace::cli {

struct Session;

/// What a verb is for.
using Verb = Exit (*)(Session&);

/// Finds what does a verb that needs more than a connection to a server.
using FindVerb = Verb (*)(std::string_view name);

/// Options that verbs share. Each verb names the groups that it has.
enum Group : unsigned {
  kServer = 1u << 0,     ///< where the server is; all verbs
  kState = 1u << 1,      ///< --state
  kFilters = 1u << 2,    ///< those of lists of jobs
  kChange = 1u << 3,     ///< --dry-run
  kDangerous = 1u << 4,  ///< --yes
  kList = 1u << 5,       ///< --reverse
  kOutcome = 1u << 6,    ///< of finished jobs
  kMatch = 1u << 7,      ///< of queues
  kPause = 1u << 8,
  kPush = 1u << 9,  ///< members of a new job
  kDev = 1u << 10,
  kDoctor = 1u << 11,
  kJobPort = 1u << 12,  ///< where the beanstalk port is
  kPut = 1u << 13,
  kFetch = 1u << 14,
  kTail = 1u << 15,
  kTop = 1u << 16,
  kBench = 1u << 17,
  kRows = 1u << 18,     ///< --limit
  kBatches = 1u << 19,  ///< --state of batches
  kThrottles = 1u << 20,
  kMoveTo = 1u << 21,  ///< --to, and --state without reserved
  kWatch = 1u << 22,   ///< --watch
  kAgreed = 1u << 23,  ///< --yes of actions
  kWorkers = 1u << 24,
  kSpread = 1u << 25,  ///< of a retry
  kLocks = 1u << 26,   ///< --queue and --type of locks
  kExport = 1u << 27,
  kAudit = 1u << 28,
  kTokens = 1u << 29,
};

/// One option. `--name` is its flag.
struct VerbOption {
  const char* name;
  const char* value;  ///< placeholder for the value in the help; null: a switch
  const char* help;
  unsigned groups;  ///< the verbs of these have it
  Outcome<Done> (*apply)(Choice&, const std::string&);
  const char* variable = nullptr;  ///< of the environment; null: none
  ValueHint hint = {};
  char letter = 0;  ///< of its short flag; 0: none
};

/// An argument without a flag.
struct VerbWord {
  enum class Number { kOne, kOptional, kMany, kAny };
  const char* name = nullptr;  ///< null: there is none
  const char* help = nullptr;
  Number number = Number::kOne;
  ValueHint hint = {};
};

struct VerbRow {
  const char* name;
  const char* help;  ///< null: the command is there already, with options of its own
  std::array<VerbWord, 2> words;
  unsigned groups;
  Verb run;            ///< null: more than a server's client does it, see `cli::run`
  const char* footer;  ///< of its help: its exit statuses
};

[[nodiscard]] std::span<const VerbOption> verb_options();
[[nodiscard]] std::span<const VerbRow> verb_rows();

/// Whether the verb of that name has the option `--name` or the word.
[[nodiscard]] bool has_option(std::string_view verb, std::string_view name);

/// Does what a verb is for, and returns the exit status of the program (see `Exit`).
[[nodiscard]] int run(const Choice& choice, FindVerb find_other);

}  // namespace millrace::cli
