#include "server/options/password.hpp"

#include <filesystem>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

struct Passwords {
  Scratch scratch;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};

  Outcome<std::string> read(std::string_view text) {
    return read_password_file(scratch.write("password", text), log);
  }
};

TEST_CASE("password: the white space around it does not belong to it") {
  Passwords passwords;
  CHECK(*passwords.read(" my secret\r\n") == "my secret");
  CHECK(passwords.logged.empty());
}

TEST_CASE("password: a file without one is refused") {
  Passwords passwords;
  CHECK(passwords.read("").error().text.find("empty") != std::string::npos);
  CHECK(passwords.read("\n\n").error().text.find("empty") != std::string::npos);
}

TEST_CASE("password: a file that cannot be read is refused by name") {
  Passwords passwords;
  CHECK(read_password_file("/nowhere", passwords.log).error().text ==
        "cannot use password file /nowhere: No such file or directory");
  CHECK_FALSE(read_password_file("/", passwords.log));
}

TEST_CASE("password: 4096 bytes are read, one more is refused") {
  Passwords passwords;
  CHECK(passwords.read(std::string(kPasswordBytesMax, 'p')).value().size() == kPasswordBytesMax);
  CHECK_FALSE(passwords.read(std::string(kPasswordBytesMax + 1, 'p')));
}

TEST_CASE("password: a file that everybody may read is used, with a warning that tells no secret") {
  Passwords passwords;
  const std::string file = passwords.scratch.write("password", "secret");
  std::filesystem::permissions(file, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  CHECK(*read_password_file(file, passwords.log) == "secret");
  CHECK(passwords.logged.find("password_file_readable_by_all") != std::string::npos);
  CHECK(passwords.logged.find("secret") == std::string::npos);
}

}  // namespace
}  // namespace millrace::server
