#include "server/options/users_file.hpp"

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

using access::Right;

/// As `millrace users hash` makes it, of "open sesame".
constexpr const char* kHash =
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$"
    "0000000000000000000000000000000000000000000";

struct Files {
  Scratch scratch;
  std::string secret = scratch.write("secret", "a secret of mail-app\n");
  std::string other = scratch.write("other", "another secret of mail-app\n");

  Outcome<UsersFile> read(std::string text) {
    const auto put_in = [&](std::string_view what, const std::string& value) {
      for (std::size_t at; (at = text.find(what)) != text.npos;) {
        text.replace(at, what.size(), value);
      }
    };
    put_in("SECRET", secret);
    put_in("OTHER", other);
    put_in("HASH", kHash);
    const std::string path = scratch.write("users.toml", text);
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    return read_users_file(path);
  }

  /// What is wrong, after the place.
  std::string problem(const std::string& text) {
    const auto file = read(text);
    if (file) return "";
    const std::string& whole = file.error().text;
    CHECK(whole.find("users.toml:") != whole.npos);
    return whole.substr(whole.find(": ", whole.find("users.toml:")) + 2);
  }
};

constexpr const char* kMailApp = R"(
[[role]]
name = "mailers"
queues = ["mail*", "newsletter"]
may = ["push", "work"]
[[user]]
name = "mail-app"
roles = ["mailers", "viewer"]
secret-file = "SECRET"
)";

TEST_CASE("users: roles, users and listeners are read") {
  Files files;
  const auto file = files.read(std::string(kMailApp) + R"(
[[user]]
name = "ana@example.org"
roles = "operator"
web-password = ["HASH"]
[[listener]]
protocol = "beanstalk"
user = "mail-app"
[[listener]]
protocol = "beanstalk"
address = "unix:/run/mail.sock"
uid = { 1001 = "mail-app", 0 = "ana@example.org" }
)");
  REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error().text));
  const access::User* const app = file->users->find("mail-app");
  REQUIRE(app != nullptr);
  CHECK(app->secrets == std::vector<std::string>{"a secret of mail-app"});
  CHECK(app->rights_for("mail-in").has(Right::kWork));
  CHECK(app->rights_for("billing").has(Right::kView));
  CHECK_FALSE(app->rights_for("billing").has(Right::kPush));
  const access::User* const ana = file->users->find("ana@example.org");
  REQUIRE(ana != nullptr);
  CHECK(ana->rights_everywhere().has(Right::kOperate));
  CHECK_FALSE(ana->rights_everywhere().has(Right::kAdmin));
  CHECK(ana->web_passwords == std::vector<std::string>{kHash});
  REQUIRE(file->listeners.size() == 2);
  CHECK(file->listener_at(std::nullopt)->user == "mail-app");
  const auto at = parse_address("unix:/run/mail.sock");
  CHECK(file->listener_at(*at)->uids.at(1001) == "mail-app");
  CHECK(file->warnings.empty());
}

TEST_CASE("users: two secrets are allowed, so that one can be replaced") {
  Files files;
  const auto file = files.read(R"(
[[user]]
name = "mail-app"
roles = ["admin"]
secret-file = ["SECRET", "OTHER"]
)");
  REQUIRE(file.has_value());
  CHECK(file->users->secrets().size() == 2);
}

TEST_CASE("users: a mistake is told with its place, and nothing is taken") {
  Files files;
  const std::string ana = "[[user]]\nname = \"ana\"\nroles = [\"viewer\"]\n";
  const auto role = [](const std::string& rest) { return "[[role]]\nname = \"r\"\n" + rest; };
  struct Case {
    std::string text;
    std::string problem;
  };
  const Case cases[] = {
      {"", "there is no [[user]]"},
      {"[users]\n", "unknown key 'users' in the users file"},
      {"user = 5\n", "an entry begins with [[user]], in double brackets"},
      {"[[user]]\nname = \"ana\"\nroles = [\"viewer\"]\nrole = \"x\"\n",
       "unknown key 'role' in user"},
      {"[[user]]\nname = \"a b\"\nroles = [\"viewer\"]\n",
       "the name of a user has 1 to 64 letters, digits, -, _, . and @"},
      {"[[user]]\nname = \"ana\"\n", "user ana: roles are needed"},
      {"[[user]]\nname = \"ana\"\nroles = [\"boss\"]\n", "there is no role 'boss'"},
      {ana + ana, "there is a user ana already"},
      {role("queues = [\"*\"]\n") + ana, "role r: queues and may are needed"},
      {role("queues = [\"*\"]\nmay = [\"fly\"]\n") + ana,
       "'fly' is not a right: push, work, view, operate, admin"},
      {role("queues = [\"*a*b*c*d*\"]\nmay = [\"push\"]\n") + ana,
       "'*a*b*c*d*' is not a pattern: at most 200 bytes and four *, and each [ has its ]"},
      {role("queues = [\"a[b\"]\nmay = [\"push\"]\n") + ana,
       "'a[b' is not a pattern: at most 200 bytes and four *, and each [ has its ]"},
      {"[[role]]\nname = \"admin\"\nqueues = [\"*\"]\nmay = [\"push\"]\n" + ana,
       "there is a role admin already"},
      {ana + "web-password = \"secret\"\n",
       "web-password is not a hash made by `millrace users hash`"},
      {ana + "secret-file = \"SECRET\"\n[[user]]\nname = \"bob\"\nroles = [\"viewer\"]\n"
             "secret-file = \"SECRET\"\n",
       "the secret in " + files.secret + " is there twice: each user has its own"},
      {ana + "secret-file = [\"SECRET\", \"OTHER\", \"x\"]\n", "secret-file: at most 2"},
      {ana + "secret-file = \"/nowhere\"\n",
       "cannot use secret file /nowhere: No such file or directory"},
      {ana + "[[listener]]\nprotocol = \"faktory\"\nuser = \"ana\"\n",
       "protocol must be \"beanstalk\": the others have logins"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\n",
       "a listener has either a user or uid = { NUMBER = \"USER\" }"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\nuser = \"ana\"\nuid = { 5 = \"ana\" }\n",
       "a listener has either a user or uid = { NUMBER = \"USER\" }"},
      {ana + "foo = 1\n", "unknown key 'foo' in user"},
      {"foo = 1\n" + ana, "unknown key 'foo' in the users file"},
      {"[[user]]\nname = \"\"\n", "name must be a text in quotes and not empty"},
      {"[[user]]\nname = \"ana\"\nroles = []\n",
       "roles must be a text in quotes, or a list of at least one"},
      {ana + "secret-file = [\"SECRET\", \"SECRET\"]\n", "both secrets of ana are the same"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\nuser = \"bob\"\n", "there is no user 'bob'"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\nuid = { x = \"ana\" }\n",
       "uid must be { NUMBER = \"USER\" }"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\nuid = { 5 = \"bob\" }\n",
       "there is no user 'bob'"},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\naddress = \"::\"\nuser = \"ana\"\n",
       "address: "},
      {ana + "[[listener]]\nprotocol = \"beanstalk\"\nuser = \"ana\"\n"
             "[[listener]]\nprotocol = \"beanstalk\"\nuser = \"ana\"\n",
       "there is a listener of this address already"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.text);
    CHECK(files.problem(each.text).substr(0, each.problem.size()) == each.problem);
  }
}

TEST_CASE("users: a short secret is refused, and a pattern of no queue is warned of") {
  Files files;
  files.secret = files.scratch.write("short", "fifteen letters");
  const std::string text =
      "[[user]]\nname = \"ana\"\nroles = [\"viewer\"]\nsecret-file = \"SECRET\"\n";
  CHECK(files.problem(text) == "the secret in " + files.secret + " is shorter than 16 bytes");
  const auto file = files.read(
      "[[role]]\nname = \"r\"\nqueues = [\"a b\"]\nmay = [\"push\"]\n"
      "[[user]]\nname = \"ana\"\nroles = [\"r\"]\n");
  REQUIRE(file.has_value());
  REQUIRE(file->warnings.size() == 1);
  CHECK(file->warnings.front().ends_with("users.toml:3: no queue can have a name like 'a b'"));
}

TEST_CASE("users: a file that others can read is refused") {
  Files files;
  const std::string path =
      files.scratch.write("users.toml", "[[user]]\nname = \"ana\"\nroles = [\"viewer\"]\n");
  for (const mode_t mode : {0604, 0602, 0620}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    const auto file = read_users_file(path);
    REQUIRE_FALSE(file.has_value());
    CHECK(file.error().text ==
          "cannot use users file " + path + ": other users can read or write it: chmod 640");
  }
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  CHECK(read_users_file(path).has_value());
  CHECK_FALSE(read_users_file("/nowhere").has_value());
}

}  // namespace
TEST_CASE_FIXTURE(Files, "users file: a proxy whose header counts") {
  const std::string user =
      "[[user]]\nname = \"ana\"\nroles = [\"viewer\"]\nweb-password = \"HASH\"\n";
  const auto file = read(user +
                         "[proxy]\nuser-header = \"X-Forwarded-User\"\n"
                         "from = [\"10.0.0.5\", \"::0:1\", \"unix\"]\n");
  REQUIRE_MESSAGE(file.has_value(), file.error().text);
  const access::TrustedProxy& proxy = file->users->proxy();
  CHECK(proxy.header == "x-forwarded-user");
  CHECK(proxy.addresses == std::vector<std::string>{"10.0.0.5", "::1", "unix socket"});
  CHECK(proxy.is_at("::1"));
  CHECK_FALSE(proxy.is_at("10.0.0.50"));
  for (const char* wrong :
       {"[proxy]\n", "[proxy]\nuser-header = \"X-User\"\n", "[proxy]\nfrom = \"::1\"\n",
        "[proxy]\nuser-header = \"Cookie\"\nfrom = \"::1\"\n",
        "[proxy]\nuser-header = \"X-A b\"\nfrom = \"::1\"\n",
        "[proxy]\nuser-header = \"X-User\"\nfrom = \"10.0.0.0/8\"\n",
        "[proxy]\nuser-header = \"X-User\"\nfrom = \"proxy.example\"\n",
        "[proxy]\nuser-header = \"X-User\"\nfrom = \"::1\"\nto = \"x\"\n",
        "[[proxy]]\nuser-header = \"X-User\"\nfrom = \"::1\"\n"}) {
    CAPTURE(wrong);
    CHECK_FALSE(read(user + wrong).has_value());
  }
}

}  // namespace millrace::server
