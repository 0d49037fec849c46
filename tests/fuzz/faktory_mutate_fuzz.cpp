// MUTATE: any filter can be asked about any job, and a glob agrees with a plain one that is written
// without thought for speed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/model/queue.hpp"
#include "faktory/job/glob.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/session/parse_mutate.hpp"

namespace {

using namespace millrace;
using namespace millrace::faktory;

/// Short patterns and texts only: it tries everything. Classes are left to the real one.
bool matches_plainly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches_plainly(pattern.substr(1), text) ||
           (!text.empty() && matches_plainly(pattern, text.substr(1)));
  }
  if (text.empty()) return false;
  if (pattern.front() == '?') return matches_plainly(pattern.substr(1), text.substr(1));
  if (pattern.front() == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  return pattern.front() == text.front() && matches_plainly(pattern.substr(1), text.substr(1));
}

void check_glob(std::string_view bytes) {
  const std::size_t middle = bytes.find('|');
  if (middle == std::string_view::npos) return;
  const std::string_view pattern = bytes.substr(0, middle);
  const std::string_view text = bytes.substr(middle + 1);
  Glob glob(pattern);
  Steps steps(text.size() * glob.steps_per_byte());
  if (glob.read(text, steps) < text.size() && !glob.is_decided()) std::abort();
  const bool is_match = glob.matches();
  if (pattern.size() > 8 || text.size() > 12 || pattern.find('[') != std::string_view::npos) return;
  if (is_match != matches_plainly(pattern, text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_glob(bytes);
  const auto mutate = parse_mutate(bytes);
  if (!mutate) return 0;
  static const WorkUnits format;
  const auto matches = make_matcher(mutate->filter, format, {});
  if (matches == nullptr) return 0;
  Queue queue;
  queue.name = "default";
  Job job;
  job.id = 1;
  constexpr std::string_view kBody = R"({"jobtype":"Foo","args":[1,"two"],"jid":"job-00001"})";
  job.body.reset(new char[kBody.size()]);
  std::memcpy(job.body.get(), kBody.data(), kBody.size());
  job.body_bytes = kBody.size();
  Steps steps(kSliceSteps);
  (void)matches(job, queue, steps);
  return 0;
}
