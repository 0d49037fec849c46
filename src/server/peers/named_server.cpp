#include "server/peers/named_server.hpp"

#include <string>

#include "cli/options/verb_rows.hpp"
#include "server/options/config.hpp"
#include "server/peers/peer_addresses.hpp"

namespace millrace::server {
namespace {

constexpr const char* kFaktoryUrlVariable = "FAKTORY_URL";

/// Verbs without --url are told by the variable alone.
Outcome<Done> take_millrace_url(cli::Choice& choice) {
  const std::string text = environment_variable(kUrlVariable).value_or("");
  if (choice.has_url || text.empty()) return Done{};
  const auto url = cli::parse_server_url(text);
  if (!url) return Problem{std::string(kUrlVariable) + " " + url.error().text};
  choice.url = *url;
  choice.has_url = true;
  return Done{};
}

/// The server that FAKTORY_URL names has its web port at the usual place, and one password.
Outcome<Done> take_faktory_url(cli::Choice& choice) {
  const std::string text = environment_variable(kFaktoryUrlVariable).value_or("");
  if (choice.has_url || text.empty()) return Done{};
  const auto address = parse_faktory_address(text);
  if (!address) {
    return Problem{std::string(kFaktoryUrlVariable) +
                   " is not tcp://[:PASSWORD@]HOST[:PORT] or tcp+tls://...; --url is where the "
                   "web port is"};
  }
  choice.has_url = true;
  choice.url.is_https = address->target.is_tls;
  choice.url.host = address->target.host;
  choice.url.password = address->password;
  return Done{};
}

}  // namespace

Outcome<Done> take_server(cli::Choice& choice) {
  const unsigned groups = choice.verb->groups;
  const bool speaks_beanstalk = (groups & cli::kJobPort) != 0;
  const bool is_named = speaks_beanstalk ? choice.has_job_port : !choice.words.empty();
  const bool asks_one = (groups & (cli::kServer | cli::kTop)) != 0;
  const bool may_ask_one = (groups & (cli::kDoctor | cli::kJobPort)) != 0 && !is_named;
  if (!asks_one && !may_ask_one) return Done{};
  if (auto taken = take_millrace_url(choice); !taken) return taken;
  if (auto taken = take_faktory_url(choice); !taken) return taken;
  if (speaks_beanstalk && choice.has_url) {
    choice.job_port.host = choice.url.host;
    choice.job_port.is_tls = choice.url.is_https;
  }
  return Done{};
}

Outcome<Done> check_ca(const cli::Choice& choice) {
  const unsigned groups = choice.verb->groups;
  if (choice.ca_file.empty()) return Done{};
  if ((groups & cli::kJobPort) != 0 && !choice.job_port.is_tls) {
    return Problem{"--ca needs a port with TLS: --address tls://HOST:PORT"};
  }
  if ((groups & (cli::kServer | cli::kTop)) != 0 && !choice.url.is_https) {
    return Problem{"--ca needs a URL that begins with https://"};
  }
  return Done{};
}

}  // namespace millrace::server
