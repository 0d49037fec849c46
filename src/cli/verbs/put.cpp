#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/job_port.hpp"
#include "cli/verbs/verbs.hpp"
#include "client/beanstalk.hpp"

namespace millrace::cli {
namespace {

/// Longer than any job.
constexpr std::size_t kInputBytesMax = std::size_t{1} << 30;

/// All of stdin, without a change.
Reply<std::string> read_input(Console& console) {
  if (::isatty(STDIN_FILENO) == 1) console.complain("type the body, and end it with Ctrl-D");
  constexpr std::size_t kPartBytes = 64 * 1024;
  std::string all;
  std::size_t got = 0;
  do {
    const std::size_t before = all.size();
    all.resize(before + kPartBytes);
    got = std::fread(all.data() + before, 1, kPartBytes, stdin);
    all.resize(before + got);
    if (all.size() > kInputBytesMax) return Failure{.text = "the body is longer than any job"};
  } while (got > 0);
  // A part of it must not be taken for the whole.
  if (std::ferror(stdin) != 0) {
    return Failure{.text = std::string("the body cannot be read: ") + std::strerror(errno)};
  }
  return all;
}

}  // namespace

Exit put_job(Session& session) {
  const PutChoice& put = session.choice.put;
  const bool is_given = !session.choice.words.empty() && session.choice.words.front() != "-";
  const Reply<std::string> body =
      is_given ? Reply<std::string>(session.choice.words.front()) : read_input(session.console);
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
