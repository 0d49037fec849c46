// A job in pieces is accepted when the reader accepts it as a whole, and becomes the same job.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "faktory/job/job_reader.hpp"
#include "faktory/job/long_job.hpp"
#include "faktory/job/pushed_job.hpp"

namespace {

using namespace millrace;
using namespace millrace::faktory;

void check(bool holds) {
  if (!holds) std::abort();
}

/// The stored form; empty: the job is refused.
std::string make_at_once(std::string_view json) {
  JobReader reader;
  std::string body;
  const Outcome<JobMembers> members = reader.read(json);
  if (members) (void)make_pushed_job(*members, Time{1s}, WallClock{}, no_secret, body);
  return body;
}

std::string make_in_steps(std::string_view json, std::size_t piece) {
  LongJob job(Minifier::Root::kJob);
  for (std::size_t at = 0; at < json.size(); at += piece) {
    if (!job.add(json.substr(at, piece))) return {};
  }
  JobReader reader;
  const Outcome<JobMembers> members = job.read(reader);
  if (!members || !job.make(*members, Time{1s}, WallClock{}, no_secret)) return {};
  while (!job.copy_some()) {
  }
  return std::string(job.job().body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte says how long the pieces are.
  if (size < 1) return 0;
  const std::string_view json(reinterpret_cast<const char*>(data) + 1, size - 1);
  check(make_in_steps(json, 1 + data[0] % 64) == make_at_once(json));
  return 0;
}
