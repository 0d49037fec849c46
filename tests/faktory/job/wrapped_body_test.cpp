#include "faktory/job/wrapped_body.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "faktory/job/work_unit.hpp"
#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

Job put_job(std::string_view body) {
  Job job;
  job.id = 7;
  job.created_at = kNow;
  job.enqueued_at = kNow + 1s;
  job.ttr_s = 90;
  job.edit_history().failure.emplace().message = R"([""])";
  job.body = std::make_unique<char[]>(body.size());
  std::memcpy(job.body.get(), body.data(), body.size());
  job.body_bytes = static_cast<std::uint32_t>(body.size());
  return job;
}

std::string whole(const Job& job) {
  std::string out;
  WorkUnits().render(job, "q", {}, out);
  return out;
}

std::string in_steps(const Job& job) {
  WrappedBody wrapped(job, "q", {});
  while (!wrapped.measure(job.body_view())) continue;
  std::string out;
  for (bool is_whole = false; !is_whole;) {
    const std::size_t before = out.size();
    is_whole = wrapped.append_some(job.body_view(), out);
    CHECK(out.size() - before < 7 * WrappedBody::kWrittenBytes);
  }
  CHECK(wrapped.size() == out.size());
  return out;
}

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

constexpr std::size_t kLong = 2 * WrappedBody::kMeasuredBytes;

}  // namespace

TEST_CASE("wrapped body: in steps as in one") {
  std::string every_byte;
  for (int c = 0; c < 128; ++c) every_byte += static_cast<char>(c);
  for (const std::string& part :
       {std::string("a"), every_byte, std::string("\u00E9"), std::string("\u20AC"),
        std::string("\U0001F600"), std::string("\"\n"), std::string("x\xFF")}) {
    for (std::size_t more = 0; more < 4; ++more) {
      CAPTURE(part);
      const Job job = put_job(std::string(more, '.') + repeated(part, kLong));
      const std::string expected = whole(job);
      // Not by doctest: it would print both.
      CHECK((in_steps(job) == expected));
    }
  }
}

TEST_CASE("wrapped body: one byte that is no text makes all of it base64") {
  for (const std::string_view wrong : {"\xFF", "\x80\x80\x80\x80", "\xE2\x82", "\xED\xA0\x80"}) {
    for (const std::size_t at : {kLong / 2 - 2, kLong / 2 - 1, kLong / 2, kLong}) {
      std::string body(kLong, 'a');
      const Job job = put_job(body.insert(at, wrong));
      const std::string shown = in_steps(job);
      CHECK((shown == whole(job)));
      CHECK(shown.find(R"("custom":{"encoding":"base64"})") != std::string::npos);
    }
  }
}

TEST_CASE("wrapped body: a long body that was put is no work unit, whatever is in it") {
  const auto body_of = [](std::size_t bytes) {
    const std::string_view begin = R"({"jid":"12345678","jobtype":"T","args":[")";
    return std::string(begin) + std::string(bytes - begin.size() - 3, 'a') + R"("]})";
  };
  const Job most = put_job(body_of(WorkUnitFormat::kLongBodyBytes));
  CHECK(WorkUnits().identify(most).jid == "12345678");
  const Job too_long = put_job(body_of(WorkUnitFormat::kLongBodyBytes + 1));
  CHECK(WorkUnits().identify(too_long).jid == "beanstalk-7");
  const std::string shown = whole(too_long);
  CHECK(shown.find(R"("jobtype":"beanstalk")") != std::string::npos);
  CHECK((in_steps(too_long) == shown));
}

}  // namespace millrace::faktory
