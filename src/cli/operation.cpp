#include "cli/operation.hpp"

#include <algorithm>
#include <chrono>

#include "cli/members.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

/// A short operation is not waited for longer than needed, and a long one not asked for often.
constexpr auto kFirstWait = 10ms;
constexpr auto kLongestWait = 400ms;

void show(Session& session, const Json& operation, const std::string& doing) {
  const std::uint64_t all = std::max<std::uint64_t>(count_at(operation, "to_look_at"), 1);
  const std::uint64_t seen = std::min(count_at(operation, "looked_at"), all);
  session.console.show_progress(
      doing + ": " + http::count_of(count_at(operation, "changed"), "job") + ", " +
      std::to_string(seen * 100 / all) + " % of " + http::grouped(all) + " looked at");
}

}  // namespace

Reply<Answer> follow(Session& session, Interrupts& interrupts, const Answer& begun,
                     const std::string& doing) {
  Reply<Answer> last = begun;
  const std::string target = "operations/" + text_at(begun.json, "id");
  auto wait = std::chrono::milliseconds(kFirstWait);
  while (text_at(last->json, "phase") == "running") {
    show(session, last->json, doing);
    if (interrupts.wait(wait)) {
      last = session.api.post(target + "/cancel", "{}", begun.instance);
      // It may have ended by itself in this moment.
      if (!last && last.error().status == 409) last = session.api.get(target);
    } else {
      last = session.api.get(target);
    }
    if (!last) {
      return Failure{.exit = last.error().exit,
                     .text = last.error().text + "; it is unknown how many jobs were changed",
                     .status = last.error().status};
    }
    if (last->instance != begun.instance) {
      return Failure{.text = "the server was restarted, which ended the operation"};
    }
    wait = std::min(wait * 2, std::chrono::milliseconds(kLongestWait));
  }
  return last;
}

}  // namespace millrace::cli
