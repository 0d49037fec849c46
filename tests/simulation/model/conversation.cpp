#include "simulation/model/conversation.hpp"

#include <optional>

#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

std::string name_of(const Client& client) {
  return "client " + std::to_string(client.number());
}

bool tells_nothing(const std::string& reply) {
  return reply == "$-1\r\n" || reply == "TIMED_OUT\r\n" || reply == "DEADLINE_SOON\r\n";
}

}  // namespace

void Conversation::begin(Client& client, Time now) {
  client.session().start(now);
  if (client.is_worker()) {
    client.shake_hands(R"(HELLO {"v":2,"hostname":"h","pid":1,"wid":")" + client.wid() + "\"}\r\n",
                       now);
    demand(client.take_produced().size() == 2, "the handshake went wrong");
    parts_.model.connect_worker(client.number(), client.wid(), now);
  } else {
    parts_.model.connect_beanstalk(client.number());
  }
  if (parts_.tell) parts_.tell(name_of(client) + " connects as " + client.wid());
}

void Conversation::end(Client& client, Time now) {
  if (parts_.tell) parts_.tell(name_of(client) + " leaves");
  const std::vector<Model::Fetch> unsent = client.unsent_fetches();
  client.session().note_broken();
  client.session().close(now);
  parts_.model.leave(client.number(), unsent, now);
}

std::vector<Command> Conversation::draw(const Client& client, Time now) {
  auto& [random, workload, model, tell] = parts_;
  const std::uint64_t longest = random.one_in(3) ? workload.sizes().pipeline_max : 1;
  std::uint64_t left = random.between(1, longest);
  std::vector<Command> drawn;
  bool has_failed = false;
  while (left-- > 0 && (drawn.empty() || !Workload::may_wait(drawn.back()))) {
    const Command next = client.is_worker() ? workload.draw_worker(model, client.wid(), now)
                                            : workload.draw_beanstalk(model, client.number());
    // When what has failed is tried again, and so its place, is not known before the reply.
    if (has_failed && next.verb == Verb::kMutate) break;
    // Of two long operations at a time nobody could say which has moved a job.
    const bool is_long = next.verb == Verb::kMutate || next.verb == Verb::kKick;
    if (is_long && model.is_working()) break;
    // What a batch came to is asked afterwards, and FLUSH leaves nothing of it.
    const bool is_last = workload.sizes().has_features && next.verb == Verb::kFlush;
    if (is_last && !drawn.empty()) break;
    has_failed = has_failed || next.verb == Verb::kFail;
    if (tell) tell(name_of(client) + " > " + render(next).substr(0, 200));
    drawn.push_back(next);
  }
  return drawn;
}

void Conversation::check_replies(Client& client, std::uint64_t point, const Teller& visit) {
  Model& model = parts_.model;
  for (const std::string& reply : client.take_produced()) {
    if (parts_.tell) parts_.tell(name_of(client) + " < " + reply.substr(0, 60));
    const std::optional<Expected> expected = model.take_expected(client.number());
    if (!expected) throw Violation(name_of(client) + " was to get no reply, and got " + reply);
    if (!matches(reply, *expected)) {
      throw Violation(name_of(client) + " was to get " + text_of(*expected) + "\nand got " + reply);
    }
    if (visit) visit(reply);
    if (expected->new_batch != 0) {
      const std::size_t begin = reply.find("b-");
      model.name_batch(expected->new_batch, reply.substr(begin, reply.size() - begin - 2));
    }
    std::optional<Model::Fetch> fetch;
    if (const JobId id = expected->fetched; id != 0) {
      fetch = Model::Fetch{id, expected->fetched_at};
    }
    // A client that is told of one job, or of none, may be told so before all else is safe.
    const bool is_all =
        client.is_strict() || (expected->handed_out.id == 0 && !tells_nothing(reply));
    client.mark_produced({.point = point, .is_all = is_all, .handed_out = expected->handed_out},
                         fetch);
  }
  if (const auto missing = model.take_expected(client.number())) {
    if (missing->may_be_late) return model.postpone(client.number(), *missing);
    throw Violation(name_of(client) + " has no reply, and was to get " + text_of(*missing));
  }
}

void Conversation::check_eviction(Client& client, Time now) {
  if (client.is_silent() || !client.session().wants_close()) return;
  client.fall_silent();
  demand(parts_.model.evict(client.number(), now), "a worker that is alive was sent away");
}

}  // namespace millrace::simulation
