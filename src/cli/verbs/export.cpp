#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/named_job.hpp"
#include "cli/verbs/verbs.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A pushed job as a worker gets it, which can be pushed as it is; a job that was put as an object
/// with its body. Empty: it has ended meanwhile.
Reply<std::string> line_of(Session& session, const Json& job) {
  const std::string target = "jobs/" + text_at(job, "id");
  Reply<std::string> body = session.api.bytes(target + "/body");
  if (!body && body.error().status == kNotFound) return std::string();
  if (!body) return body.error();
  if (is_at(job, "is_pushed")) {
    // JSON has line ends between its tokens only.
    for (char& c : *body) c = c == '\n' || c == '\r' ? ' ' : c;
    return *body + "\n";
  }
  const Reply<Answer> whole = session.api.get(target);
  if (!whole && whole.error().status == kNotFound) return std::string();
  if (!whole) return whole.error();
  Json line{{"tube", text_at(job, "queue")},
            {"priority", count_at(job, "pri")},
            {"ttr", count_at(whole->json, "ttr_s")}};
  if (text_at(job, "state") == "scheduled") line["at"] = text_at(job, "when");
  if (is_utf8(*body)) line["body"] = *body;
  if (!is_utf8(*body)) line["body_base64"] = base64(*body);
  return line.dump() + "\n";
}

std::FILE* open_new_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
}

Failure cannot_write(const std::string& path) {
  return {.text = "cannot write " + path + ": " + std::strerror(errno)};
}

/// Gives the number of jobs.
Reply<std::uint64_t> write_jobs(Session& session, std::FILE* file) {
  std::uint64_t count = 0;
  std::optional<Failure> failure;
  for (const std::string& state : session.choice.states) {
    std::string target = "jobs?limit=200";
    add_parameter(target, "state", state);
    add_filters(target, session.choice);
    const Reply<Answer> last = each_page(session, target, [&](const Answer& page) {
      for (const Json& job : member(page.json, "jobs")) {
        const Reply<std::string> line = line_of(session, job);
        if (!line) failure = line.error();
        if (line && std::fwrite(line->data(), 1, line->size(), file) < line->size()) {
          failure = cannot_write(session.choice.to);
        }
        if (failure) return false;
        if (!line->empty()) ++count;
      }
      session.console.show_progress(http::count_of(count, "job") + " exported");
      return true;
    });
    if (failure) return *failure;
    if (!last) return last.error();
  }
  return count;
}

}  // namespace

Exit export_jobs(Session& session) {
  const Choice& choice = session.choice;
  if (choice.to.empty()) return session.refuse_usage("--to is needed: a new file, or - for stdout");
  if (choice.states.empty()) return session.refuse_usage("--state is needed: which jobs?");
  const bool is_stdout = choice.to == "-";
  // For the owner only: jobs may hold secrets. A file that is there is nobody's to replace.
  const File file(is_stdout ? stdout : open_new_file(choice.to),
                  is_stdout ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) return session.fail(cannot_write(choice.to));
  Reply<std::uint64_t> count = write_jobs(session, file.get());
  // The jobs may be deleted next: so the file is on the disk, or not there.
  const bool is_written =
      std::fflush(file.get()) == 0 && (is_stdout || ::fsync(fileno(file.get())) == 0);
  if (count && !is_written) count = cannot_write(choice.to);
  if (count && *count == 0) count = Failure{.text = "no job matches"};
  if (!count && !is_stdout) ::unlink(choice.to.c_str());
  if (!count) return session.fail(count.error());
  if (is_stdout) return Exit::kDone;
  return session.print_done("exported", http::count_of(*count, "job") + " to " + choice.to,
                            {{"exported", *count}});
}

}  // namespace millrace::cli
