#include "engines/log_url.hpp"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/nats_url.hpp"
#include "engines/postgres_target.hpp"

namespace millrace::engines {
namespace {

constexpr std::string_view kTable = "millrace_log=";

bool has_table_letters(std::string_view name) {
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

/// `?millrace_log=jobs2` where such a parameter is there.
std::string shown_table(std::string_view parameters) {
  std::string shown;
  while (!parameters.empty()) {
    const std::string_view each = take_until(parameters, '&');
    if (!each.starts_with(kTable) || !has_table_letters(each.substr(kTable.size()))) continue;
    shown = "?" + std::string(each);
  }
  return shown;
}

/// libpq reads the numbers only when it connects.
bool are_ports(std::string_view list) {
  while (!list.empty()) {
    const std::string_view port = take_until(list, ',');
    if (!port.empty() && parse_number<std::uint16_t>(port).value_or(0) == 0) return false;
  }
  return true;
}

/// libpq looks at values such as that of `sslmode` only when it connects. Here it would do so by a
/// socket file that is not there, which costs nothing. Empty: it finds no fault with them.
std::string fault_with(std::map<std::string, std::string> parameters) {
  // Ports are counted by hosts, or by their addresses.
  std::string& hosts = parameters["host"];
  const auto more =
      std::max(std::ranges::count(hosts, ','), std::ranges::count(parameters["hostaddr"], ','));
  parameters.erase("hostaddr");
  hosts = "/nowhere";
  for (auto i = more; i > 0; --i) hosts += ",/nowhere";
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(
      PQconnectStartParams(keywords.data(), values.data(), 0), &PQfinish);
  const std::string text = PQerrorMessage(connection.get());
  if (!text.starts_with("invalid ") && !text.starts_with("could not match ")) return {};
  // The value itself follows. It may be anything.
  return text.substr(0, text.find_first_of(":\"\n"));
}

Outcome<Done> check_postgres_url(const std::string& url) {
  const auto target = postgres::read_target(url, {});
  if (!target) return target.error();
  // libpq ends the password at its first `@`, and would tell the rest as the name of a host.
  const auto hosts = target->parameters.find("host");
  if (hosts != target->parameters.end() && hosts->second.find('@') != std::string::npos) {
    return Problem{"the URL of a log has a host with an @: in a password, write it as %40"};
  }
  const auto ports = target->parameters.find("port");
  if (ports != target->parameters.end() && !are_ports(ports->second)) {
    return Problem{"the URL of a log in PostgreSQL has ports from 1 to 65535"};
  }
  const std::string fault = fault_with(target->parameters);
  if (fault.empty()) return Done{};
  return Problem{"the URL of a log in PostgreSQL is refused by libpq: " + fault};
}

/// Of `nats://host:port`.
bool is_here(std::string_view server) {
  server.remove_prefix(server.find("://") + 3);
  return stays_on_this_machine(server.substr(0, server.rfind(':')));
}

}  // namespace

std::string exposure_of(const std::string& url, const Options& options) {
  if (url.starts_with("postgres")) {
    const auto target = postgres::read_target(url, options);
    return target ? target->exposure : "";
  }
  const auto nats = parse_nats_url(url);
  if (!nats || nats->uses_tls || !options.ca_file.empty() || !options.certificate_file.empty() ||
      std::ranges::all_of(nats->servers, is_here)) {
    return {};
  }
  return "nats:// is without TLS: jobs and the password can be read in between";
}

Outcome<Done> check_log_url(const std::string& url) {
  const std::string_view scheme = std::string_view(url).substr(0, url.find("://"));
  if (scheme == "postgresql" || scheme == "postgres") return check_postgres_url(url);
  if (scheme != "nats" && scheme != "tls") {
    return Problem{"the URL of a log begins with nats://, tls:// or postgresql://"};
  }
  const auto parsed = parse_nats_url(url);
  return parsed ? Outcome<Done>(Done{}) : parsed.error();
}

/// A password may itself contain `@`, `/` or `?`. Where it cannot be told from the rest, the hosts
/// are not shown either.
std::string shown_url(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "(not a URL)";
  const std::size_t begin = scheme_end + 3;
  const std::size_t at = url.rfind('@');
  const bool has_user = at != std::string::npos && at >= begin;
  if (has_user && url.find_first_of("?#", begin) < at) return url.substr(0, begin) + "...";
  const std::string rest = url.substr(has_user ? at + 1 : begin);
  const std::size_t end = rest.find_first_of("?#");
  const std::string shown = url.substr(0, begin) + rest.substr(0, end);
  if (end == std::string::npos || rest[end] == '#') return shown;
  return shown + shown_table(rest.substr(end + 1));
}

bool stays_on_this_machine(std::string_view host) {
  if (host.empty() || host.front() == '/' || host.front() == '@' || host == "localhost")
    return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  in_addr four{};
  in6_addr six{};
  const std::string text(host);
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

}  // namespace millrace::engines
