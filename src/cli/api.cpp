#include "cli/api.hpp"

#include <httplib.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/members.hpp"
#include "client/target.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

constexpr int kConnectSeconds = 10;
/// The server answers within 20 seconds, or not at all.
constexpr int kAnswerSeconds = 25;
constexpr std::size_t kMessageBytesMax = 500;
constexpr const char* kRoot = "/api/v1/";

std::string why(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection";
    case httplib::Error::ConnectionTimeout:
      return "no connection in time";
    case httplib::Error::Read:
      return "the connection ended before an answer, or none came in time";
    case httplib::Error::Write:
      return "the request could not be sent";
    case httplib::Error::SSLConnection:
      return "no TLS connection; the URL of a port without TLS begins with http://";
    case httplib::Error::SSLLoadingCerts:
      return "the certificates of --ca cannot be read";
    case httplib::Error::SSLServerVerification:
      return "its certificate is not trusted; see --ca";
    default:
      return httplib::to_string(error);
  }
}

/// What the server says about its refusal. Others may answer at that address, with other texts.
std::string reason_of(const httplib::Response& response) {
  const Json json = Json::parse(response.body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string()) {
    return one_line(json["error"].get<std::string>(), kMessageBytesMax);
  }
  return "HTTP status " + std::to_string(response.status);
}

Exit exit_of(const httplib::Response& response) {
  constexpr int kMakesNoSense = 400;
  const Json json = Json::parse(response.body, nullptr, false);
  if (text_at(json, "code") == "not_unique") return Exit::kNotUnique;
  const bool is_ours = !text_at(json, "error").empty();
  return is_ours && response.status == kMakesNoSense ? Exit::kUsage : Exit::kRefused;
}

/// Discarded: it is no JSON. The work unit of a job is sent as it was pushed, and may have what a
/// parser refuses, such as 1E400. The answer is read without it then.
Json parse_answer(const std::string& body) {
  // No quote stands in a text without a backslash before it: so this is the member itself.
  constexpr std::string_view kWorkUnit = ",\"work_unit\":";
  Json json = Json::parse(body, nullptr, false);
  const std::size_t at = json.is_discarded() ? body.find(kWorkUnit) : body.npos;
  if (at == body.npos) return json;
  return Json::parse(body.substr(0, at) + ",\"work_unit\":null}", nullptr, false);
}

std::unique_ptr<httplib::ClientImpl> make_client(const ServerUrl& url) {
  if (url.is_https) return std::make_unique<httplib::SSLClient>(url.host, url.port);
  return std::make_unique<httplib::ClientImpl>(url.host, url.port);
}

}  // namespace

Api::Api(const Choice& choice)
    : url_(choice.url),
      shown_url_(choice.url.shown()),
      ca_file_(choice.ca_file),
      has_password_(!choice.password.empty() || !choice.url.password.empty()),
      has_token_(!choice.bearer.empty()),
      client_(make_client(choice.url)) {
  client_->set_keep_alive(true);
  client_->set_connection_timeout(kConnectSeconds, 0);
  client_->set_read_timeout(kAnswerSeconds, 0);
  client_->set_write_timeout(kAnswerSeconds, 0);
  // Targets are encoded already.
  client_->set_url_encode(false);
  client_->set_tcp_nodelay(true);
  // The audit log shows it.
  client_->set_default_headers({{"User-Agent", "millrace"}});
  if (!choice.ca_file.empty()) client_->set_ca_cert_path(choice.ca_file);
  if (has_token_) client_->set_bearer_token_auth(choice.bearer);
  if (has_token_ || !has_password_) return;
  const std::string& user = choice.url.user;
  client_->set_basic_auth(user.empty() ? "millrace" : user,
                          choice.password.empty() ? choice.url.password : choice.password);
}

Api::~Api() = default;

Reply<Answer> Api::get(const std::string& target) {
  return read(client_->Get(url_.path + kRoot + target));
}

Reply<Answer> Api::post(const std::string& target, const std::string& body,
                        const std::string& instance) {
  httplib::Headers headers;
  if (!instance.empty()) headers.emplace("X-Instance", instance);
  return read(client_->Post(url_.path + kRoot + target, headers, body, "application/json"));
}

Reply<std::string> Api::bytes(const std::string& target) {
  httplib::Result result = client_->Get(url_.path + kRoot + target);
  const bool is_ours = result && result->status == 200 && result->has_header("X-Instance");
  if (is_ours) return std::move(result->body);
  const Reply<Answer> answer = read(result);
  return answer ? Failure{.text = "what answers at " + shown_url_ + " is not Millrace"}
                : answer.error();
}

Reply<Answer> Api::health() {
  const httplib::Result result = client_->Get(url_.path + "/health");
  if (!result) return read(result);
  has_answered_ = true;
  Answer answer{.json = parse_answer(result->body), .body = result->body};
  if (!text_at(answer.json, "status").empty()) return answer;
  return read(result);
}

Reply<Answer> Api::read(const httplib::Result& result) {
  if (!result) {
    // A port that speaks TLS closes the connection of a client that does not.
    const bool may_speak_tls =
        result.error() == httplib::Error::Read && !has_answered_ && !url_.is_https;
    if (may_speak_tls) {
      return unreachable(why(result.error()) +
                         "; it may be no web port (7420), or one with TLS: https://");
    }
    if (result.error() == httplib::Error::SSLLoadingCerts) {
      return Failure{.exit = Exit::kUsage, .text = why(result.error()) + ": " + ca_file_};
    }
    const bool is_unknown =
        result.error() == httplib::Error::Connection && !client::is_known_host(url_.host);
    return unreachable(is_unknown ? "the host " + url_.host + " is not known"
                                  : why(result.error()));
  }
  has_answered_ = true;
  const httplib::Response& response = *result;
  if (response.status == 401 && has_token_) {
    return Failure{.text = reason_of(response) + "; see MILLRACE_TOKEN", .status = 401};
  }
  if (response.status == 401) {
    return Failure{.text = has_password_ ? "the password is wrong"
                                         : "the server wants a password; see --password-file",
                   .status = 401};
  }
  const bool is_foreign = response.get_header_value("X-Instance").empty();
  if (response.status < 200 || response.status >= 300) {
    if (is_foreign && text_at(Json::parse(response.body, nullptr, false), "error").empty()) {
      return Failure{.text = "what answers at " + shown_url_ + " is not Millrace (" +
                             reason_of(response) + ")",
                     .status = response.status};
    }
    return Failure{
        .exit = exit_of(response), .text = reason_of(response), .status = response.status};
  }
  Answer answer{
      .json = parse_answer(response.body),
      .body = response.body,
      .as_of = response.get_header_value("X-As-Of"),
      .instance = response.get_header_value("X-Instance"),
      .now_ms = parse_number<std::int64_t>(response.get_header_value("X-Now-Ms")).value_or(0)};
  if (answer.json.is_object() && !answer.instance.empty()) return answer;
  return Failure{.text = "what answers at " + shown_url_ + " is not Millrace",
                 .status = response.status};
}

Failure Api::unreachable(const std::string& why) const {
  Failure failure{.exit = Exit::kUnreachable, .text = "cannot reach " + shown_url_ + ": " + why};
  const bool has_port_of_urls = url_.port == (url_.is_https ? 443 : 80);
  if (has_port_of_urls) failure.text += "; a URL without a port has that one, Millrace's is 7420";
  return failure;
}

std::string path_part(std::string_view name) {
  if (name == ".") return "%252E";
  if (name == "..") return "%252E%252E";
  return http::percent_encoded(name);
}

void add_parameter(std::string& target, std::string_view name, std::string_view value) {
  target += target.find('?') == target.npos ? '?' : '&';
  target += http::concat(name, "=", http::percent_encoded(value));
}

}  // namespace millrace::cli
