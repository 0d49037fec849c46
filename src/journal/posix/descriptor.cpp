#include "journal/posix/descriptor.hpp"

#include <system_error>

namespace millrace::journal {

namespace {

bool is_out_of_space(int error) {
  const bool has_no_descriptor = error == EMFILE || error == ENFILE;
  return has_no_descriptor || error == ENOSPC || error == EDQUOT;
}

}  // namespace

Problem failed_to(std::string_view verb, const std::string& path, int error) {
  return Problem{.text = "cannot " + std::string(verb) + " " + path + ": " +
                         std::system_category().message(error),
                 .is_out_of_space = is_out_of_space(error)};
}

}  // namespace millrace::journal
