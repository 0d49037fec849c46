#pragma once

#include "server/doctor/findings.hpp"

namespace millrace::server {

/// The limits and the clock of this machine, for a server that is started from here.
void check_machine(Findings& found);

}  // namespace millrace::server
