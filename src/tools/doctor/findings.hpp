#pragma once

#include <string>
#include <vector>

namespace millrace::tools {

/// What one check has seen, in words for a person.
struct Finding {
  const char* check;  ///< a word for programs: `disk`
  std::string seen;
  std::string means = {};    ///< empty: all is well
  std::string to_do = {};    ///< with `means`
  std::string command = {};  ///< to paste into a shell: it does that; empty: there is none

  [[nodiscard]] bool is_well() const { return means.empty(); }
};

using Findings = std::vector<Finding>;

}  // namespace millrace::tools
