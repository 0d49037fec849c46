#include <sys/wait.h>
#include <unistd.h>

#include "server/process/process.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// True when a child process became the user and cannot go back to root.
bool child_becomes(const User& user) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_done = become(user).has_value() && ::geteuid() == user.user_id &&
                         ::getegid() == user.group_id && ::setuid(0) != 0;
    ::_exit(is_done ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("user: is found by name") {
  const Outcome<User> root = find_user("root");
  REQUIRE(root);
  CHECK(root->name == "root");
  CHECK(root->user_id == 0);
  CHECK(root->group_id == 0);
}

TEST_CASE("user: an unknown name is a problem that names it") {
  CHECK(find_user("no-such-user").error().text ==
        "cannot become user 'no-such-user': no such user");
}

TEST_CASE("user: root becomes another user for good, others cannot") {
  const Outcome<User> nobody = find_user("nobody");
  REQUIRE(nobody);
  CHECK(child_becomes(*nobody) == (::geteuid() == 0));
}

}  // namespace millrace::server
