#pragma once

#include "tools/doctor/findings.hpp"

namespace millrace::tools {

/// The limits and the clock of this machine, for a server that is started from here.
void check_machine(Findings& found);

}  // namespace millrace::tools
