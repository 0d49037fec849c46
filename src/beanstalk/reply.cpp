#include "beanstalk/reply.hpp"

#include <charconv>
#include <utility>

#include "base/check.hpp"

namespace millrace::beanstalk::reply {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  // As many as the largest number has.
  char digits[20];
  auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(digits, end);
}

/// <word> <number>\r\n
void append_count(std::string& out, std::string_view word, std::uint64_t number) {
  out += word;
  append_number(out, number);
  out += "\r\n";
}

/// <word> <id> <bytes>\r\n
void append_head(std::string& out, std::string_view word, JobId id, std::size_t bytes) {
  out += word;
  append_number(out, id);
  out += ' ';
  append_count(out, "", bytes);
}

/// <word> <id> <bytes>\r\n<body>\r\n
void append_body(std::string& out, std::string_view word, JobId id, std::string_view body) {
  append_head(out, word, id, body.size());
  out += body;
  out += "\r\n";
}

void append_job(std::string& out, std::string_view word, const ShownJob& shown) {
  // A pushed job is shown as Faktory workers see it. Its stored form lacks the members that the job
  // knows.
  if (shown.job.kind == JobKind::kBytes) {
    append_body(out, word, shown.job.id, shown.job.body_view());
    return;
  }
  std::string body;
  shown.format.render(shown.job, shown.tube, shown.clock, body);
  append_body(out, word, shown.job.id, body);
}

std::optional<LongText> long_job(std::string_view word, const ShownJob& shown,
                                 const TextOwner& body) {
  std::optional<LongText> text;
  if (shown.job.kind == JobKind::kBytes) {
    text.emplace().add(shown.job.body_view(), body);
  } else {
    text = shown.format.render_long(shown.job, shown.tube, shown.clock, body);
  }
  if (!text) return std::nullopt;
  std::string head;
  append_head(head, word, shown.job.id, text->size());
  LongText reply;
  reply.add(head);
  reply.add(std::move(*text));
  reply.add("\r\n");
  return reply;
}

constexpr std::string_view kReserved = "RESERVED ";
constexpr std::string_view kFound = "FOUND ";

}  // namespace

std::string_view refusal(const Refused& refused) {
  switch (refused.reason) {
    case Refused::Reason::kUnknownCommand:
      return kUnknownCommand;
    case Refused::Reason::kBadFormat:
    // beanstalkd has no error of its own for it.
    case Refused::Reason::kLineTooLong:
      return kBadFormat;
    case Refused::Reason::kJobTooBig:
      return kJobTooBig;
    case Refused::Reason::kExpectedCrlf:
      return kExpectedCrlf;
    case Refused::Reason::kOutOfMemory:
      return kOutOfMemory;
  }
  CHECK(false);
}

void inserted(std::string& out, JobId id) {
  append_count(out, "INSERTED ", id);
}

void kicked(std::string& out, std::uint64_t count) {
  append_count(out, "KICKED ", count);
}

void watching(std::string& out, std::size_t count) {
  append_count(out, "WATCHING ", count);
}

void using_tube(std::string& out, std::string_view tube) {
  out += "USING ";
  out += tube;
  out += "\r\n";
}

void reserved(std::string& out, const ShownJob& shown) {
  append_job(out, kReserved, shown);
}

void found(std::string& out, const ShownJob& shown) {
  append_job(out, kFound, shown);
}

std::optional<LongText> long_reserved(const ShownJob& shown, const TextOwner& body) {
  return long_job(kReserved, shown, body);
}

std::optional<LongText> long_found(const ShownJob& shown, const TextOwner& body) {
  return long_job(kFound, shown, body);
}

}  // namespace millrace::beanstalk::reply
