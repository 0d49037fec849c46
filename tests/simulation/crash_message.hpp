#pragma once

#include <string>

namespace millrace::simulation {

/// The line that stderr gets when the process crashes: a CHECK failed, a signal came, or a
/// sanitizer found something.
void set_crash_message(const std::string& text);

/// From now on the line is printed. Earlier handlers of these signals still run after it.
void print_crash_message();

}  // namespace millrace::simulation
