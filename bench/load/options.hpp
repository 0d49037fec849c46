#pragma once

#include <string>

#include "plan.hpp"

namespace bench {

/// What the command line asks for.
struct Options {
  Plan plan;
  std::string works = "put";  ///< as they were given: the plan has them one by one
  std::string help;           ///< empty, unless that is all that is asked for
};

/// Throws std::invalid_argument, with one line, when it asks for what cannot be.
Options read_options(int argc, const char* const* argv);

}  // namespace bench
