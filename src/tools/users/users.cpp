#include "tools/users/users.hpp"

#include <sodium.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

#include "base/text.hpp"
#include "cli/show/console.hpp"
#include "server/options/users_file.hpp"

namespace millrace::tools {
namespace {

using access::Right;

constexpr std::size_t kPasswordBytesMin = 8;

std::string rights_text(access::Rights rights) {
  std::string text;
  for (const auto& [name, right] : access::kRightNames) {
    if (rights.has(right)) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::string logins_text(const access::User& user) {
  std::string text;
  if (!user.secrets.empty()) text += "faktory";
  if (!user.web_passwords.empty()) text += text.empty() ? "web" : ", web";
  return text.empty() ? "no login" : text;
}

std::string list(const server::UsersFile& file) {
  std::string text;
  for (const access::User& user : file.users->all()) {
    text += user.name + " (" + logins_text(user) + ")\n";
    for (const access::Grant& grant : user.grants) {
      text += "  " + rights_text(grant.may) + ": ";
      for (const std::string& pattern : grant.queues) {
        text += (&pattern == &grant.queues.front() ? "" : ", ") + pattern;
      }
      text += '\n';
    }
  }
  for (const server::UserListener& listener : file.listeners) {
    text += "beanstalk at " + (listener.address ? listener.address->text() : "--beanstalk") + ": ";
    text += listener.user;
    const char* before = "";
    for (const auto& [uid, user] : listener.uids) {
      text += before + std::string("uid ") + std::to_string(uid) + " is " + user;
      before = ", ";
    }
    text += '\n';
  }
  return text;
}

std::string check(const server::UsersFile& file) {
  std::string text;
  for (const std::string& warning : file.warnings) text += "warning: " + warning + '\n';
  return text + "the users file is valid\n";
}

Outcome<std::string> explain(const server::UsersFile& file, const std::vector<std::string>& words) {
  const access::User* const user = file.users->find(words[1]);
  if (user == nullptr) return Problem{"there is no user '" + words[1] + "'"};
  const auto right = access::right_of(words[2]);
  if (!right) return Problem{"'" + words[2] + "' is not a right: push, work, view, operate, admin"};
  const std::string& queue = words[3];
  const std::string asked =
      "may " + user->name + ' ' + words[2] + ' ' + (queue == "*" ? "everywhere" : queue) + "? ";
  const auto gives = [&](const access::Grant& grant) {
    const access::User one{.name = {}, .grants = {grant}, .secrets = {}, .web_passwords = {}};
    return (queue == "*" ? one.rights_everywhere() : one.rights_for(queue)).has(*right);
  };
  const auto found = std::ranges::find_if(user->grants, gives);
  if (found == user->grants.end()) {
    return asked + "no: none of its roles grants " + words[2] + " on " +
           (queue == "*" ? "all queues (the pattern *)" : queue) + '\n';
  }
  std::string patterns;
  for (const std::string& each : found->queues) patterns += (patterns.empty() ? "" : ", ") + each;
  return asked + "yes: one of its roles grants " + rights_text(found->may) + " on " + patterns +
         '\n';
}

/// From a terminal, without showing it.
std::string read_password() {
  termios before{};
  const bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
  if (is_terminal) {
    cli::Console(false).complain("Password:");
    termios hidden = before;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  std::string password;
  std::getline(std::cin, password);
  if (is_terminal) {
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  }
  return password;
}

Outcome<std::string> hash() {
  std::string password = read_password();
  if (password.size() < kPasswordBytesMin) return Problem{"a password has at least 8 bytes"};
  std::array<char, crypto_pwhash_STRBYTES> text{};
  const bool is_done =
      sodium_init() >= 0 && crypto_pwhash_str(text.data(), password.data(), password.size(),
                                              crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                              crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0;
  sodium_memzero(password.data(), password.size());
  if (!is_done) return Problem{"no memory for the hash: it takes 64 MiB"};
  return std::string(text.data()) + '\n';
}

}  // namespace

Outcome<std::string> work_on_users(const UsersChoice& choice) {
  const std::size_t wanted = choice.action == "hash" ? 0 : choice.action == "explain" ? 4 : 1;
  if (choice.words.size() != wanted) {
    return Problem{choice.action == "hash"      ? "hash reads the password from stdin"
                   : choice.action == "explain" ? "explain needs FILE USER RIGHT QUEUE"
                                                : choice.action + " needs FILE"};
  }
  if (choice.action == "hash") return hash();
  const auto file = server::read_users_file(choice.words.front());
  if (!file) return file.error();
  if (choice.action == "explain") return explain(*file, choice.words);
  return choice.action == "list" ? list(*file) : check(*file);
}

}  // namespace millrace::tools
