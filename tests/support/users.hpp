#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/users.hpp"

/// Users for the tests of both protocols.
namespace millrace::test {

/// Has these rights for `mail*`, and none else; its secret is `the secret of NAME`.
inline access::User user_of_mail(const std::string& name, access::Rights may) {
  return {.name = name,
          .grants = {{.queues = {"mail*"}, .may = may}},
          .secrets = {"the secret of " + name},
          .web_passwords = {}};
}

/// The same for all queues.
inline access::User user_of_all(const std::string& name, access::Rights may) {
  access::User user = user_of_mail(name, may);
  user.grants.front().queues = {"*"};
  return user;
}

inline access::SharedUsers users_of(std::vector<access::User> users) {
  return std::make_shared<const access::Users>(std::move(users));
}

inline access::Caller caller_of(const access::SharedUsers& users, std::string_view name) {
  return access::Caller(users, *users->find(name));
}

}  // namespace millrace::test
