// The `custom` member and the arguments of a pushed job: what is asked for is the same when it is
// read again from what a worker is given, its times are within their limits, arguments of one
// meaning have one lock, and every refusal fits into one line.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/job/read_features.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/json/canonical_json.hpp"
#include "faktory/session/reply.hpp"

namespace {

using namespace millrace;
using namespace millrace::faktory;

constexpr Time kWall{1'700'000'000s};

void check(bool holds) {
  if (!holds) std::abort();
}

void check_times(const JobFeatures& features) {
  if (features.wants_lock()) {
    check(features.lock_ends >= kWall && features.lock_ends < kNever);
    check(features.lock_seconds >= 0);
  }
  check(!features.expires() || (features.expires_at > Time{} && features.expires_at < kNever));
}

std::string canonical(std::string_view json) {
  std::string text;
  append_canonical(json, text);
  return text;
}

/// nlohmann's numbers are inexact when they are long, or no integers.
bool has_floats(const nlohmann::json& json) {
  if (!json.is_structured()) return json.is_number_float();
  for (const auto& element : json) {
    if (has_floats(element)) return true;
  }
  return false;
}

/// Another writer of JSON sorts members, and spells strings and numbers in its own way.
void check_canonical(std::string_view args) {
  const auto json = nlohmann::json::parse(args, nullptr, false);
  if (json.is_discarded() || has_floats(json)) return;
  check(canonical(json.dump()) == canonical(args));
}

void check_refusal(const RefusedJob& refused) {
  std::string line;
  reply::error(line, reply::refusal(refused));
  check(line.find_first_of("\r\n") == line.size() - 2);
}

/// What a worker is given for a stored job.
std::string show(std::string_view body) {
  static const WorkUnits format;
  Job job;
  job.id = 7;
  job.kind = JobKind::kWorkUnit;
  job.enqueued_at = kWall;
  job.body.reset(new char[body.size()]);
  std::memcpy(job.body.get(), body.data(), body.size());
  job.body_bytes = static_cast<std::uint32_t>(body.size());
  std::string text;
  format.render(job, "default", {}, text);
  return text;
}

}  // namespace

/// The arguments, `|`, and `custom`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = bytes.find('|');
  if (middle == std::string_view::npos) return 0;
  std::string json = R"({"jid":"12345678","jobtype":"T","args":)";
  json.append(bytes.substr(0, middle)).append(R"(,"custom":)");
  json.append(bytes.substr(middle + 1)).append("}");

  JobReader reader;
  const auto members = reader.read(json);
  if (!members) return 0;
  check_canonical(members->raw_args);
  NewJob asked;
  if (const auto refused = read_features(*members, kWall, no_secret, asked)) {
    check_refusal(*refused);
    return 0;
  }
  if (asked.features) check_times(*asked.features);

  std::string body;
  if (!make_pushed_job(*members, kWall, WallClock{}, no_secret, body)) return 0;
  const std::string shown = show(body);
  JobReader second;
  const auto fetched = second.read(shown);
  check(static_cast<bool>(fetched));
  NewJob again;
  check(!read_features(*fetched, kWall, no_secret, again));
  check(again.conflict == asked.conflict);
  check(again.features == asked.features);
  return 0;
}
