#include <string>

#include "cli/input.hpp"
#include "cli/job_port.hpp"
#include "cli/verbs/verbs.hpp"
#include "client/beanstalk.hpp"

namespace millrace::cli {

Exit put_job(Session& session) {
  const PutChoice& put = session.choice.put;
  const bool is_given = !session.choice.words.empty() && session.choice.words.front() != "-";
  const Reply<std::string> body = is_given ? Reply<std::string>(session.choice.words.front())
                                           : read_stdin(session.console, "body");
  if (!body) return session.fail(body.error());
  auto client = connect_to_job_port(session.choice);
  if (!client) return session.fail(failure_of(client.error()));
  if (auto used = client->use(put.tube); !used) return session.fail(failure_of(used.error()));
  const auto id = client->put(
      {.body = *body, .priority = put.priority, .delay_s = put.delay_s, .ttr_s = put.ttr_s});
  if (!id) {
    Failure failure = failure_of(id.error());
    if (!id.error().is_refusal) failure.text += "; it is unknown whether the job was put";
    return session.fail(failure);
  }
  return session.print_done("put", "job " + std::to_string(*id) + ", tube " + put.tube,
                            {{"id", *id}, {"tube", put.tube}});
}

}  // namespace millrace::cli
