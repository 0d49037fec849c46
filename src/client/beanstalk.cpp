#include "client/beanstalk.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::client {
namespace {

constexpr std::size_t kBodyBytesMax = std::size_t{1} << 31;

/// Answers that a person understands only with the protocol at hand. They may come to any command.
struct Meaning {
  std::string_view answer;
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {"DRAINING",
     "the server refuses put over beanstalk: it is in drain mode (push still works), is stopping, "
     "or has no leader"},
    {"OUT_OF_MEMORY", "the server has no room for this: its disk or its memory is full"},
    {"INTERNAL_ERROR", "the server has failed to do this; its log says why"},
    {"+HI ", "this is a Faktory port; that of beanstalk is another one, usually 11300"},
    {"HTTP/", "this is a web port; that of beanstalk is another one, usually 11300"},
};

Failure refusal(const std::string& answer) {
  for (const Meaning& meaning : kMeanings) {
    if (answer.starts_with(meaning.answer)) return {.text = meaning.text, .is_refusal = true};
  }
  return {.text = "the server answered " + answer, .is_refusal = true};
}

/// `text`: what BAD_FORMAT means here.
Failure refusal(const std::string& answer, const std::string& text) {
  if (answer != "BAD_FORMAT") return refusal(answer);
  return {.text = text, .is_refusal = true, .makes_no_sense = true};
}

std::string bad_name(std::string_view name) {
  constexpr std::size_t kNameBytesMax = 200;
  if (name.size() > kNameBytesMax) return "the name of a tube has at most 200 bytes";
  return "no tube can have the name \"" + std::string(name) +
         "\": letters, digits and -+/;.$_() are allowed, and no - at the beginning";
}

Failure put_refusal(const std::string& answer, std::size_t body_bytes) {
  if (answer == "JOB_TOO_BIG") {
    return {.text = "the body has " + std::to_string(body_bytes) +
                    " bytes, and the server takes fewer: see its option --max-job-size",
            .is_refusal = true};
  }
  return refusal(answer, "the server takes no such priority, delay or TTR");
}

/// Whether it is one word of a command. What else a name must be, the server says.
Reply<Done> check_name(std::string_view name) {
  const bool is_word = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7F; });
  if (is_word && !name.empty()) return Done{};
  return Failure{.text = "the name of a tube has no blanks or control characters",
                 .is_refusal = true,
                 .makes_no_sense = true};
}

/// `RESERVED <id> <bytes>` or `OK <bytes>`: the last number. nullopt: it is something else.
std::optional<std::size_t> length_in(std::string_view answer) {
  const std::size_t blank = answer.rfind(' ');
  if (blank == answer.npos) return std::nullopt;
  const auto bytes = parse_number<std::size_t>(answer.substr(blank + 1));
  return bytes && *bytes <= kBodyBytesMax ? bytes : std::nullopt;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace

Reply<Beanstalk> Beanstalk::connect(const Target& target) {
  Reply<Connection> connection = Connection::open(target);
  if (!connection) return connection.error();
  return Beanstalk(std::move(*connection));
}

Reply<std::string> Beanstalk::ask(std::string_view command) {
  if (auto sent = connection_.send(command); !sent) return sent.error();
  return connection_.line();
}

Reply<Done> Beanstalk::tell(const std::string& command, std::string_view wanted,
                            const std::string& bad_format) {
  const Reply<std::string> answer = ask(command + "\r\n");
  if (!answer) return answer.error();
  if (answer->starts_with(wanted)) return Done{};
  return bad_format.empty() ? refusal(*answer) : refusal(*answer, bad_format);
}

Reply<Done> Beanstalk::use(std::string_view tube) {
  if (auto checked = check_name(tube); !checked) return checked;
  return tell("use " + std::string(tube), "USING ", bad_name(tube));
}

Reply<Done> Beanstalk::watch(const std::vector<std::string>& tubes) {
  for (const std::string& tube : tubes) {
    if (auto checked = check_name(tube); !checked) return checked;
    auto watched = tell("watch " + tube, "WATCHING ", bad_name(tube));
    if (!watched) return watched;
  }
  if (std::ranges::find(tubes, "default") != tubes.end()) return Done{};
  return tell("ignore default", "WATCHING ");
}

Reply<std::uint64_t> Beanstalk::put(const NewJob& job) {
  std::string command = "put " + std::to_string(job.priority) + " " + std::to_string(job.delay_s) +
                        " " + std::to_string(job.ttr_s) + " " + std::to_string(job.body.size()) +
                        "\r\n";
  command.append(job.body).append("\r\n");
  const Reply<std::string> answer = ask(command);
  if (!answer) return answer.error();
  constexpr std::string_view kInserted = "INSERTED ";
  const auto id = answer->starts_with(kInserted)
                      ? parse_number<std::uint64_t>(answer->substr(kInserted.size()))
                      : std::nullopt;
  if (!id) return put_refusal(*answer, job.body.size());
  return *id;
}

Reply<std::optional<Beanstalk::Job>> Beanstalk::reserve(Wait wait) {
  const Reply<std::string> answer =
      ask("reserve-with-timeout " + std::to_string(wait.at_most.count()) + "\r\n");
  if (!answer) return answer.error();
  if (*answer == "TIMED_OUT") return std::optional<Job>();
  constexpr std::string_view kReserved = "RESERVED ";
  const auto bytes = length_in(*answer);
  if (!answer->starts_with(kReserved) || !bytes) return refusal(*answer);
  const std::string_view rest = std::string_view(*answer).substr(kReserved.size());
  const auto id = parse_number<std::uint64_t>(rest.substr(0, rest.find(' ')));
  if (!id) return refusal(*answer);
  Reply<std::string> body = connection_.body(*bytes);
  if (!body) return body.error();
  return std::optional<Job>({.id = *id, .body = std::move(*body)});
}

Reply<Done> Beanstalk::remove(std::uint64_t id) {
  return tell("delete " + std::to_string(id), "DELETED");
}

Reply<Done> Beanstalk::release(std::uint64_t id, std::uint64_t delay_s) {
  return tell("release " + std::to_string(id) + " 0 " + std::to_string(delay_s), "RELEASED");
}

Reply<Done> Beanstalk::bury(std::uint64_t id) {
  return tell("bury " + std::to_string(id) + " 0", "BURIED");
}

Reply<std::string> Beanstalk::stats(std::uint64_t id) {
  const Reply<std::string> answer = ask("stats-job " + std::to_string(id) + "\r\n");
  if (!answer) return answer.error();
  const auto bytes = length_in(*answer);
  if (!answer->starts_with("OK ") || !bytes) return refusal(*answer);
  return connection_.body(*bytes);
}

Stats parse_stats(std::string_view text) {
  Stats stats;
  while (!text.empty()) {
    const std::string_view row = take_line(text);
    const std::size_t colon = row.find(": ");
    if (colon == row.npos) continue;
    stats[std::string(row.substr(0, colon))] = unquoted(trimmed(row.substr(colon + 2)));
  }
  return stats;
}

}  // namespace millrace::client
