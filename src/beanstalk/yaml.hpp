#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::beanstalk {

/// Writes a body as beanstalkd does: one line for each `key: value` or `- item`, in the order of
/// the calls. Only `quoted` writes quotes, and nothing is escaped: clients parse it so.
class Yaml {
 public:
  Yaml& number(std::string_view key, std::uint64_t value);
  Yaml& plain(std::string_view key, std::string_view value);
  Yaml& quoted(std::string_view key, std::string_view value);
  Yaml& flag(std::string_view key, bool value);
  Yaml& item(std::string_view value);

  /// Appends OK <bytes>\r\n<body>\r\n.
  void append_to(std::string& out) const;

 private:
  std::string body_ = "---\n";
};

}  // namespace millrace::beanstalk
