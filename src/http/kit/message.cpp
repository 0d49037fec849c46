#include "http/kit/message.hpp"

namespace millrace::http {

std::string_view Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view{} : found->second;
}

std::string_view Request::param(const std::string& name) const {
  const auto found = params.find(name);
  return found == params.end() ? std::string_view{} : found->second;
}

Response refuse(int status, std::string_view text, std::string_view code) {
  Json error{{"error", text}};
  if (!code.empty()) error["code"] = code;
  return {.status = status, .body = dump(error)};
}

Response refuse_method(std::string_view allowed, std::string_view text) {
  Response response = refuse(405, text);
  response.headers["Allow"] = allowed;
  return response;
}

Response refuse_for_room() {
  return refuse(503, "the server is out of space: try again when some jobs have ended");
}

}  // namespace millrace::http
