#include "server/process/process.hpp"

namespace millrace::server {

std::string version_text() {
  return "millrace " MILLRACE_VERSION
         "\n"
         "commit: " MILLRACE_COMMIT
         "\n"
         "features: " MILLRACE_FEATURES;
}

}  // namespace millrace::server
