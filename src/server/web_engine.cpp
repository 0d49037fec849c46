#include "server/web_engine.hpp"

#include <utility>

#include "http/text.hpp"

namespace millrace::server {
namespace {

http::Request read_request(const httplib::Request& from) {
  http::Request request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.headers) {
    request.headers.emplace(http::lower_case(name), value);
  }
  request.params.insert(from.params.begin(), from.params.end());
  request.prefix = http::clean_prefix(request.header("x-script-name"));
  if (!request.prefix.empty() && request.path.starts_with(request.prefix + "/")) {
    request.path.erase(0, request.prefix.size());
  }
  return request;
}

void fill_response(http::Response&& from, httplib::Response& to) {
  http::harden(from);
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  to.set_content(std::move(from.body), from.type);
}

}  // namespace

class WebEngine::Library : public httplib::Server {
 public:
  Library(const WebAnswers& answers, std::size_t body_bytes_max)
      : answers_(answers), body_bytes_max_(body_bytes_max) {
    set_payload_max_length(body_bytes_max);
    set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      return answer_head(from, to);
    });
    Post(".*", [this](const httplib::Request& from, httplib::Response& to) {
      http::Request request = read_request(from);
      request.body = from.body;
      fill_response(answers_.answer(request), to);
    });
    // What the library refuses by itself: too long, malformed. It is not known where the next
    // request begins, or whether there is one.
    set_error_handler([this](const httplib::Request&, httplib::Response& to) {
      if (!to.body.empty() || to.status == 304) return;
      fill_response(http::refuse(to.status, "the request cannot be read"), to);
      end_connection(to);
    });
  }

  Served serve(WebChannel& channel) {
    served_ = {};
    bool is_closed = false;
    const bool is_done = process_request(channel, false, is_closed, [&](const httplib::Request&) {
      channel.begin(WebChannel::Steady::now() + kWebRequestMax,
                    body_bytes_max_ + http::kHeaderBytesMax);
    });
    served_.can_go_on = is_done && !is_closed && !served_.is_cut;
    return served_;
  }

 private:
  HandlerResponse answer_head(const httplib::Request& from, httplib::Response& to) {
    http::Request request = read_request(from);
    served_.login = answers_.login(request);
    std::optional<http::Response> response = answers_.head(request);
    // The library would read a body of unknown length until the connection ends.
    const bool has_body =
        request.headers.contains("content-length") || request.headers.contains("transfer-encoding");
    if (!response && has_body && from.method == "POST") return HandlerResponse::Unhandled;
    if (!response) response = answers_.answer(request);
    // A body that is not read would be taken for the next request; and who tries passwords has to
    // come again for each.
    if (has_body || served_.login == http::Login::kWrong) end_connection(to);
    fill_response(std::move(*response), to);
    return HandlerResponse::Handled;
  }

  void end_connection(httplib::Response& to) {
    served_.is_cut = true;
    to.set_header("Connection", "close");
  }

  const WebAnswers& answers_;
  std::size_t body_bytes_max_;
  Served served_;  ///< by the request that is being served
};

WebEngine::WebEngine(const WebAnswers& answers, std::size_t body_bytes_max)
    : library_(std::make_unique<Library>(answers, body_bytes_max)) {}

WebEngine::~WebEngine() = default;

WebEngine::Served WebEngine::serve(WebChannel& channel) {
  channel.begin(WebChannel::Steady::now() + kWebHeadMax, http::kHeaderBytesMax);
  return library_->serve(channel);
}

}  // namespace millrace::server
