#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "client/connection.hpp"
#include "client/target.hpp"

namespace millrace::server {

/// Reads `beanstalk://HOST[:PORT]`.
[[nodiscard]] Outcome<client::Target> parse_beanstalk_address(std::string_view text);
/// The same for each way to write it.
[[nodiscard]] std::string name_of(const client::Target& address);

/// A client of that server. Waits a minute for each answer at most. Problems name the server.
class BeanstalkPeer {
 public:
  [[nodiscard]] static Outcome<BeanstalkPeer> connect(const client::Target& address);

  /// Commands may be sent before the answers to others were read.
  void send(std::string_view command);
  /// The next line of an answer, without its end.
  [[nodiscard]] Outcome<std::string> line();
  /// The body that follows a line which ends with its length.
  [[nodiscard]] Outcome<std::string> body(std::string_view line);

  [[nodiscard]] Outcome<std::string> ask(std::string_view command) {
    send(command);
    return line();
  }

  /// The body of an answer `OK LENGTH`. Empty: the answer is another one.
  [[nodiscard]] Outcome<std::string> read_text();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Problem odd(std::string_view answer) const;

 private:
  BeanstalkPeer(client::Connection connection, std::string name)
      : connection_(std::move(connection)), name_(std::move(name)) {}
  [[nodiscard]] Outcome<Done> flush();
  [[nodiscard]] Problem lost() const;

  client::Connection connection_;
  std::string name_;
  std::string output_;
};

}  // namespace millrace::server
