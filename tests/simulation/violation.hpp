#pragma once

#include <stdexcept>
#include <string>

namespace millrace::simulation {

/// Something that must always be true was not.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void demand(bool is_true, const char* what) {
  if (!is_true) throw Violation(what);
}

}  // namespace millrace::simulation
