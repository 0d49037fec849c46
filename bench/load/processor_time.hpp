#pragma once

namespace bench {

/// The time that all threads of a process have run, in seconds: of those that it has now. Throws
/// when it is not there, or has ended and nobody has waited for it yet.
double processor_seconds(int pid);

}  // namespace bench
