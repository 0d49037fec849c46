#include "cli/cli.hpp"

#include <csignal>

#include "base/check.hpp"
#include "cli/options/verb_rows.hpp"
#include "cli/session.hpp"

namespace millrace::cli {

int run(const Choice& choice, FindVerb find_other) {
  CHECK(choice.verb != nullptr);
  // A server that closes its end, or a pager that ends, is seen when writing.
  std::signal(SIGPIPE, SIG_IGN);
  Console console(choice.has_colors);
  Api api(choice);
  Session session{.choice = choice, .api = api, .console = console};
  const Verb verb = choice.verb->run == nullptr ? find_other(choice.verb->name) : choice.verb->run;
  CHECK(verb != nullptr);
  Exit exit = verb(session);
  if (!console.finish() && exit == Exit::kDone) {
    exit = session.fail({.text = "the output could not be written"});
  }
  return static_cast<int>(exit);
}

}  // namespace millrace::cli
