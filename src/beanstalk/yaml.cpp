#include "beanstalk/yaml.hpp"

namespace millrace::beanstalk {

Yaml& Yaml::number(std::string_view key, std::uint64_t value) {
  return plain(key, std::to_string(value));
}

Yaml& Yaml::plain(std::string_view key, std::string_view value) {
  body_.append(key).append(": ").append(value).append("\n");
  return *this;
}

Yaml& Yaml::quoted(std::string_view key, std::string_view value) {
  // Tube names and facts about the system have no quotes, so nothing is escaped.
  body_.append(key).append(": \"").append(value).append("\"\n");
  return *this;
}

Yaml& Yaml::flag(std::string_view key, bool value) {
  return plain(key, value ? "true" : "false");
}

Yaml& Yaml::item(std::string_view value) {
  body_.append("- ").append(value).append("\n");
  return *this;
}

void Yaml::append_to(std::string& out) const {
  // The body is collected first: its length comes before it.
  out.append("OK ").append(std::to_string(body_.size())).append("\r\n");
  out.append(body_).append("\r\n");
}

}  // namespace millrace::beanstalk
