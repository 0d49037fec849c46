#pragma once

#include <string>

namespace millrace::simulation {

/// What is said on stderr when the process dies: of a CHECK that failed, of a signal, or of what a
/// sanitizer found.
void set_last_words(const std::string& text);

/// From now on. What handled such deaths before does so still.
void speak_when_dying();

}  // namespace millrace::simulation
