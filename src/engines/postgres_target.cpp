#include "engines/postgres_target.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

#include "engines/log_url.hpp"

namespace millrace::engines::postgres {
namespace {

constexpr std::string_view kTableParameter = "millrace_log=";
constexpr std::size_t kTableNameMax = 63;  // longer names are cut by the server

/// Plans do not depend on statistics, which lag behind a table that changes as fast. A client that
/// vanished is noticed, since its transaction would keep all others waiting. No statement is ever
/// cancelled by the server: one that waits for the standby would then be told that it succeeded.
constexpr const char* kSessionSettings =
    " -c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
    " -c idle_session_timeout=0 -c default_transaction_isolation=read\\ committed"
    " -c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan"
    " -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=4000";

/// Takes the parameter for us out of the URL. Answers the name of the table.
std::string take_table(std::string& url) {
  const std::size_t question = url.find('?');
  if (question == std::string::npos) return "millrace_log";
  std::string kept;
  std::string table = "millrace_log";
  for (std::size_t begin = question + 1; begin <= url.size();) {
    const std::size_t end = std::min(url.find('&', begin), url.size());
    const std::string parameter = url.substr(begin, end - begin);
    if (parameter.starts_with(kTableParameter)) {
      table = parameter.substr(kTableParameter.size());
    } else if (!parameter.empty()) {
      kept += (kept.empty() ? "?" : "&") + parameter;
    }
    begin = end + 1;
  }
  url = url.substr(0, question) + kept;
  return table;
}

bool is_table_name(const std::string& name) {
  const auto is_ours = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kTableNameMax &&
         std::all_of(name.begin(), name.end(), is_ours);
}

void add(std::map<std::string, std::string>& parameters, const char* keyword,
         const std::string& value) {
  if (!value.empty()) parameters.try_emplace(keyword, value);
}

using Keywords = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

/// What libpq goes by: the URL, and without it variables and files of its own.
std::string stated(const std::map<std::string, std::string>& parameters, std::string_view keyword) {
  const auto found = parameters.find(std::string(keyword));
  if (found != parameters.end() && !found->second.empty()) return found->second;
  const Keywords defaults(PQconndefaults(), &PQconninfoFree);
  const PQconninfoOption* each = defaults.get();
  while (each != nullptr && each->keyword != nullptr && each->keyword != keyword) ++each;
  if (each == nullptr || each->keyword == nullptr || each->val == nullptr) return {};
  const bool is_built_in =
      each->compiled != nullptr && std::string_view(each->compiled) == each->val;
  return is_built_in ? "" : each->val;
}

/// A service file may name any host.
bool reaches_others(const std::map<std::string, std::string>& parameters) {
  if (!stated(parameters, "service").empty()) return true;
  std::string hosts = stated(parameters, "host") + "," + stated(parameters, "hostaddr") + ",";
  for (std::size_t end = hosts.find(','); end != std::string::npos; end = hosts.find(',')) {
    if (!stays_on_this_machine(hosts.substr(0, end))) return true;
    hosts.erase(0, end + 1);
  }
  return false;
}

/// What another machine between here and the server could do; empty: nothing.
std::string exposure_by(const std::string& sslmode, bool has_authorities) {
  if (sslmode == "verify-full") return {};
  const std::string so = "sslmode=" + sslmode + ": ";
  // libpq checks the certificate with `require`, too, where it knows who may have issued it.
  if (sslmode == "verify-ca" || (sslmode == "require" && has_authorities)) {
    return so + "the name in PostgreSQL's certificate is not checked";
  }
  if (sslmode == "require") {
    return so +
           "PostgreSQL's certificate is not checked: others can take its place, and the password";
  }
  if (sslmode == "disable") return so + "jobs can be read between here and PostgreSQL";
  return so + "who is between here and PostgreSQL can prevent TLS, and read jobs";
}

/// libpq's own default takes whatever the server offers, and so whatever is offered in its name.
void protect(Target& target, const std::string& system_ca_file) {
  auto& parameters = target.parameters;
  parameters.try_emplace("gssencmode", "disable");  // it would be tried first, and stand for TLS
  if (!reaches_others(parameters)) return;
  if (stated(parameters, "sslmode").empty()) parameters["sslmode"] = "verify-full";
  const std::string mode = stated(parameters, "sslmode");
  if (mode.starts_with("verify-") && stated(parameters, "sslrootcert").empty()) {
    add(parameters, "sslrootcert", system_ca_file);
  }
  target.exposure = exposure_by(mode, !stated(parameters, "sslrootcert").empty());
  target.may_be_clear = mode == "disable" || mode == "allow" || mode == "prefer";
  if (!target.may_be_clear) return;
  parameters["gssencmode"] = "disable";
  if (PQlibVersion() >= kRequireAuthSince) parameters.try_emplace("require_auth", "!password");
}

/// "a,b,c" becomes "b,c,a".
std::string rotated(const std::string& list) {
  const std::size_t comma = list.find(',');
  if (comma == std::string::npos) return list;
  return list.substr(comma + 1) + "," + list.substr(0, comma);
}

}  // namespace

void Target::rotate_hosts() {
  for (const char* keyword : {"host", "hostaddr", "port"}) {
    const auto found = parameters.find(keyword);
    if (found != parameters.end()) found->second = rotated(found->second);
  }
}

Outcome<Target> read_target(const std::string& url, const Options& options) {
  std::string rest = url;
  Target target;
  target.table = take_table(rest);
  if (!is_table_name(target.table)) {
    return Problem{"millrace_log in the URL of the log names a table by 1 to 63 of a-z, 0-9 and _"};
  }
  // libpq's own words may quote the URL, with the password.
  const Keywords read(PQconninfoParse(rest.c_str(), nullptr), &PQconninfoFree);
  if (!read) {
    return Problem{
        "the URL of the log is not one of PostgreSQL, or has a parameter that it does not know: " +
        shown_url(url)};
  }
  for (const PQconninfoOption* each = read.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) target.parameters[each->keyword] = each->val;
  }
  auto& parameters = target.parameters;
  add(parameters, "password", options.password);
  if (!options.ca_file.empty()) add(parameters, "sslmode", "verify-full");
  add(parameters, "sslrootcert", options.ca_file);
  add(parameters, "sslcert", options.certificate_file);
  add(parameters, "sslkey", options.key_file);
  add(parameters, "target_session_attrs", "read-write");
  add(parameters, "application_name", "millrace");
  add(parameters, "tcp_user_timeout", "1500");  // of milliseconds; also for the connection itself
  parameters["options"] += kSessionSettings;
  protect(target, options.system_ca_file);
  return target;
}

}  // namespace millrace::engines::postgres
