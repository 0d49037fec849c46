#pragma once

#include <optional>
#include <string_view>

#include "core/model/job.hpp"
#include "faktory/job/stored_form.hpp"

namespace millrace::faktory {

/// The part of a pushed job's body that begins with its arguments, a JSON array; further members
/// follow. Empty: the job was not pushed, or its body is broken. The body is in memory.
[[nodiscard]] inline std::string_view args_part(const Job& job) {
  if (job.kind != JobKind::kWorkUnit) return {};
  const std::optional<StoredForm> form = decode_work_unit(job.body_view());
  if (!form) return {};
  // `at` alone may come before: no string in it has these bytes, as of `kTypeStart`.
  constexpr std::string_view kStart = R"("args":)";
  const std::size_t start = form->rest.find(kStart);
  return start == std::string_view::npos ? std::string_view()
                                         : form->rest.substr(start + kStart.size());
}

}  // namespace millrace::faktory
