#include "tools/peers/named_server.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cli/options/verb_rows.hpp"
#include "server/options/config.hpp"
#include "server/options/serve_command.hpp"
#include "tools/peers/peer_addresses.hpp"

namespace millrace::tools {
namespace {

constexpr const char* kFaktoryUrlVariable = "FAKTORY_URL";
constexpr const char* kNameBeanstalk = "--address or BEANSTALKD_URL";
constexpr int kHttpPort = 80;
constexpr int kHttpsPort = 443;

/// Of a server on ports of its own, one port does not tell another. To guess could be to change the
/// jobs of another server on that machine.
Problem cannot_guess(const char* variable, int port, const char* wanted, const char* how) {
  return Problem{std::string(variable) + " has port " + std::to_string(port) +
                 ", which does not tell where the " + wanted + " port is: name it with " + how};
}

/// Verbs without --url are told by the variable alone.
Outcome<Done> take_millrace_url(cli::Choice& choice) {
  const std::string text = server::environment_variable(server::kUrlVariable).value_or("");
  if (choice.has_url || text.empty()) return Done{};
  const auto url = cli::parse_server_url(text);
  if (!url) return Problem{std::string(server::kUrlVariable) + " " + url.error().text};
  choice.url = *url;
  choice.has_url = true;
  return Done{};
}

/// The server that FAKTORY_URL names has all ports at the usual places, and one password.
Outcome<Done> take_faktory_url(cli::Choice& choice, bool speaks_beanstalk) {
  const std::string text = server::environment_variable(kFaktoryUrlVariable).value_or("");
  if (choice.has_url || text.empty()) return Done{};
  const auto address = parse_faktory_address(text);
  if (!address) {
    return Problem{std::string(kFaktoryUrlVariable) +
                   " is not tcp://[:PASSWORD@]HOST[:PORT] or tcp+tls://...; --url is where the "
                   "web port is"};
  }
  const int port = address->target.port;
  if (port != kFaktoryPort && speaks_beanstalk) {
    return cannot_guess(kFaktoryUrlVariable, port, "beanstalk", kNameBeanstalk);
  }
  if (port != kFaktoryPort) {
    return cannot_guess(kFaktoryUrlVariable, port, "web", "--url or MILLRACE_URL");
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
  // A proxy in front of the web port has one of its own.
  const int port = choice.url.port;
  const bool is_usual = port == cli::ServerUrl().port || port == kHttpPort || port == kHttpsPort;
  const bool needs_jobs = speaks_beanstalk && !asks_one;
  if (needs_jobs && !is_usual) {
    return cannot_guess(server::kUrlVariable, port, "beanstalk", kNameBeanstalk);
  }
  if (auto taken = take_faktory_url(choice, needs_jobs); !taken) return taken;
  if (speaks_beanstalk && choice.has_url && !choice.has_job_port) {
    choice.job_port.host = is_usual ? choice.url.host : "";
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
  if (::access(choice.ca_file.c_str(), R_OK) != 0) {
    return Problem{"--ca: cannot read " + choice.ca_file + ": " + std::strerror(errno)};
  }
  return Done{};
}

}  // namespace millrace::tools
