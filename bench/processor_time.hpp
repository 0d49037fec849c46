#pragma once

namespace bench {

/// The time that all threads of a process have run, in seconds: of those that it has now. 0 when it
/// is gone.
double processor_seconds(int pid);

}  // namespace bench
