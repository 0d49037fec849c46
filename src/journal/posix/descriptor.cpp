#include "journal/posix/descriptor.hpp"

#include <system_error>

namespace millrace::journal {

Problem failed_to(std::string_view verb, const std::string& path, int error) {
  return Problem{.text = "cannot " + std::string(verb) + " " + path + ": " +
                         std::system_category().message(error),
                 .is_out_of_space = error == ENOSPC || error == EDQUOT};
}

}  // namespace millrace::journal
