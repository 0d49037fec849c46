// What is pushed is stored and shown: it stays valid JSON with the members that it must have. And
// any body at all, from a put or from a disk, can be shown and named.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/job/work_unit.hpp"

namespace {

using namespace millrace;
using namespace millrace::faktory;

void check(bool holds) {
  if (!holds) std::abort();
}

Job make_job(JobKind kind, std::string_view body) {
  Job job;
  job.id = 7;
  job.kind = kind;
  job.enqueued_at = Time{1s};
  job.body.reset(new char[body.size() + 1]);
  std::memcpy(job.body.get(), body.data(), body.size());
  job.body_bytes = static_cast<std::uint32_t>(body.size());
  return job;
}

void check_shown(const Job& job) {
  static const WorkUnits format;
  std::string text;
  format.render(job, "default", {}, text);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  check(json.is_object() && text.find('\n') == std::string::npos);
  check(json["jid"].is_string() && json["jobtype"].is_string() && json["args"].is_array());
  check(json["created_at"].is_string());
  std::string whole;
  format.render_whole(job, "default", {}, whole);
  check(nlohmann::json::accept(whole) && whole.size() >= text.size());
  check(json["jid"] == format.identify(job).jid && json["retry"] == format.identify(job).retry);
}

/// A damaged body may be shown as anything, and must not be read beyond its end.
void show_damaged(std::string_view body) {
  static const WorkUnits format;
  const Job job = make_job(JobKind::kWorkUnit, body);
  std::string text;
  format.render(job, "default", {}, text);
  check(!text.empty());
  (void)format.identify(job);
  (void)format.summarize(job);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_shown(make_job(JobKind::kBytes, bytes));
  show_damaged(bytes);
  JobReader reader;
  const auto members = reader.read(bytes);
  if (!members) return 0;
  std::string body;
  const auto pushed = make_pushed_job(*members, Time{1s}, {}, no_secret, body);
  if (pushed) check_shown(make_job(JobKind::kWorkUnit, body));
  return 0;
}
