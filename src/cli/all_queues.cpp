#include "cli/all_queues.hpp"

#include "cli/members.hpp"

namespace millrace::cli {

Reply<AllQueues> read_queues(Session& session, const std::string& match) {
  std::string target = "queues?sort=name&limit=200";
  if (!match.empty()) add_parameter(target, "match", match);
  Json queues = Json::array();
  std::string from;
  while (true) {
    std::string slice = target;
    if (!from.empty()) add_parameter(slice, "from", from);
    const Reply<Answer> last = each_page(session, slice, [&](const Answer& page) {
      for (const Json& queue : member(page.json, "queues")) queues.push_back(queue);
      return true;
    });
    if (!last) return last.error();
    from = text_at(last->json, "from");
    if (!from.empty()) continue;
    AllQueues all{.document = last->json, .now_ms = last->now_ms};
    all.document["queues"] = std::move(queues);
    return all;
  }
}

}  // namespace millrace::cli
