#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "client/connection.hpp"
#include "client/target.hpp"

namespace millrace::tools {

/// A connection to another job server, of either protocol, for the tools that move jobs. Waits a
/// minute for each answer at most. Problems name the server.
class JobPeer {
 public:
  /// `name`: the server as messages call it.
  [[nodiscard]] static Outcome<JobPeer> connect(const client::Target& address, std::string name);

  /// Commands may be sent before the answers to others were read.
  void send(std::string_view command);
  /// The next line of an answer, without its end.
  [[nodiscard]] Outcome<std::string> line();
  /// As `Connection::greeting`.
  [[nodiscard]] Outcome<std::string> greeting();
  /// The body that follows a line which ends with its length.
  [[nodiscard]] Outcome<std::string> body(std::string_view line);

  [[nodiscard]] Outcome<std::string> ask(std::string_view command) {
    send(command);
    return line();
  }

  /// The text that follows a line `$LENGTH` of the Faktory protocol.
  [[nodiscard]] Outcome<std::string> bulk(std::string_view line);

  /// The body of an answer `OK LENGTH` of beanstalk. Empty: the answer is another one.
  [[nodiscard]] Outcome<std::string> read_text();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Problem odd(std::string_view answer) const;

 private:
  JobPeer(client::Connection connection, std::string name)
      : connection_(std::move(connection)), name_(std::move(name)) {}
  [[nodiscard]] Outcome<Done> flush();
  [[nodiscard]] Problem lost() const;
  [[nodiscard]] Outcome<std::string> checked(client::Reply<std::string> text) const;

  client::Connection connection_;
  std::string name_;
  std::string output_;
};

}  // namespace millrace::tools
