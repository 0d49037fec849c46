#include <string>

#include "server/options/throttle_options.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// The pattern of the rule for the queue; empty: none.
std::string rule_of(std::string_view queue, const std::vector<std::string>& patterns) {
  std::vector<ThrottleRule> list;
  for (const std::string& pattern : patterns) list.push_back({.pattern = pattern, .limits = {}});
  const ThrottleRules rules = throttle_rules(std::move(list));
  const ThrottleRule* const rule = rules.find(queue);
  return rule == nullptr ? "" : rule->pattern;
}

}  // namespace

TEST_CASE("throttle rules: a name means the queue of that name only") {
  CHECK(rule_of("mail", {"mail"}) == "mail");
  CHECK(rule_of("mails", {"mail"}) == "");
  CHECK(rule_of("Mail", {"mail"}) == "");
}

TEST_CASE("throttle rules: a pattern means all that match it as a whole") {
  CHECK(rule_of("mail-7", {"mail-*"}) == "mail-*");
  CHECK(rule_of("mail", {"mail-*"}) == "");
  CHECK(rule_of("b2", {"b[0-9]"}) == "b[0-9]");
  CHECK(rule_of("anything", {"*"}) == "*");
  CHECK(rule_of("b*", {"b\\*"}) == "b\\*");
  CHECK(rule_of("bc", {"b\\*"}) == "");
}

TEST_CASE("throttle rules: a name comes before patterns, a long pattern before a short one") {
  CHECK(rule_of("mail-7", {"*", "mail-*", "mail-7"}) == "mail-7");
  CHECK(rule_of("mail-7", {"*", "mail-*"}) == "mail-*");
  CHECK(rule_of("mail-7", {"*-7", "m*7"}) == "*-7");
}

TEST_CASE("throttle rules: one matcher is asked many times") {
  const ThrottleRules rules = throttle_rules({{.pattern = "a*", .limits = {}}});
  CHECK(rules.find("ab") != nullptr);
  CHECK(rules.find("b") == nullptr);
  CHECK(rules.find("a") != nullptr);
}

TEST_CASE("throttle rules: those of types and those of queues do not mix") {
  CHECK(rule_of("type:Mail", {"*", "type:Mail"}) == "type:Mail");
  CHECK(rule_of("type:MailFast", {"*", "type:Mail*"}) == "type:Mail*");
  CHECK(rule_of("type:Mail", {"*", "?*"}) == "");
  CHECK(rule_of("Mail", {"type:Mail", "type:*"}) == "");
}

TEST_CASE("throttle rules: the types that are named are told") {
  const ThrottleRules rules = throttle_rules({{.pattern = "q", .limits = {}},
                                              {.pattern = "type:A", .limits = {}},
                                              {.pattern = "type:B*", .limits = {}}});
  CHECK(rules.has_types);
  CHECK(rules.types == std::vector<std::string>{"type:A"});
  CHECK_FALSE(throttle_rules({{.pattern = "q", .limits = {}}}).has_types);
}

}  // namespace millrace::server
