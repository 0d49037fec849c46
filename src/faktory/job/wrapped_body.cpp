#include "faktory/job/wrapped_body.hpp"

#include <memory>

#include "base/base64.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

/// What a UTF-8 text takes in a JSON string, without the quotes.
std::size_t escaped_bytes(std::string_view text) {
  constexpr std::string_view kShortEscapes = "\"\\\b\f\n\r\t";
  std::size_t bytes = text.size();
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    bytes += kShortEscapes.find(c) == kShortEscapes.npos ? 5 : 1;
  }
  return bytes;
}

std::size_t base64_bytes(std::size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

/// The beginning of the text, at most so long, which does not end within a UTF-8 sequence.
std::string_view whole_sequences(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  const auto is_continuation = [&](char c) { return (static_cast<unsigned char>(c) >> 6) == 2; };
  // A sequence has three of these at most. More of them are no text, wherever they are cut.
  for (int i = 0; i < 3 && is_continuation(text[end]); ++i) --end;
  return text.substr(0, end);
}

/// Where the argument of a rendered job begins that has this one argument, and only numbers after
/// it.
std::size_t argument_at(std::string_view rendered, std::string_view argument) {
  const std::size_t at = rendered.rfind(argument);
  CHECK(at != rendered.npos);
  return at + 2;
}

}  // namespace

WrappedBody::WrappedBody(const Job& job, std::string_view queue, WallClock clock)
    : queue_(queue), clock_(clock) {
  static_cast<StoredJob&>(job_) = job;
  job_.id = job.id;
  job_.kind = JobKind::kBytes;
}

bool WrappedBody::measure(std::string_view body) {
  const std::string_view part = whole_sequences(body.substr(at_), kMeasuredBytes);
  if (is_utf8(part)) {
    size_ += escaped_bytes(part);
    at_ += part.size();
    if (at_ < body.size()) return false;
  } else {
    is_text_ = false;
    size_ = base64_bytes(body.size());
  }
  at_ = 0;
  render_around();
  size_ += begin_.size() + end_.size();
  return true;
}

/// Renders the job with a short body that is shown in the same way.
void WrappedBody::render_around() {
  constexpr char kNoText = '\xFF';
  if (!is_text_) {
    job_.body = std::make_unique<char[]>(1);
    job_.body[0] = kNoText;
    job_.body_bytes = 1;
  }
  std::string rendered;
  WorkUnits().render(job_, queue_, clock_, rendered);
  const std::string argument = is_text_ ? "" : base64(job_.body_view());
  const std::size_t at = argument_at(rendered, "[\"" + argument + "\"]");
  begin_ = rendered.substr(0, at);
  end_ = rendered.substr(at + argument.size());
}

bool WrappedBody::append_some(std::string_view body, std::string& out) {
  if (at_ == 0) out += begin_;
  const std::string_view rest = body.substr(at_);
  const std::string_view part =
      is_text_ ? whole_sequences(rest, kWrittenBytes) : rest.substr(0, kWrittenBytes);
  if (is_text_) {
    std::string quoted;
    append_json_string(part, quoted);
    out += std::string_view(quoted).substr(1, quoted.size() - 2);
  } else {
    out += base64(part);
  }
  at_ += part.size();
  if (at_ < body.size()) return false;
  out += end_;
  return true;
}

}  // namespace millrace::faktory
