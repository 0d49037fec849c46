#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "journal/posix/descriptor.hpp"

namespace millrace::server {

/// Where a server of beanstalk clients is: `beanstalk://HOST[:PORT]`.
struct BeanstalkAddress {
  std::string host;
  std::uint16_t port = 11300;

  /// The same for each way to write it.
  [[nodiscard]] std::string name() const;
};
[[nodiscard]] Outcome<BeanstalkAddress> parse_beanstalk_address(std::string_view text);

/// A client of that server. Waits a minute for each answer at most. Problems name the server.
class BeanstalkPeer {
 public:
  [[nodiscard]] static Outcome<BeanstalkPeer> connect(const BeanstalkAddress& address);

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
  BeanstalkPeer(journal::Descriptor socket, std::string name)
      : socket_(std::move(socket)), name_(std::move(name)) {}
  [[nodiscard]] Outcome<Done> flush();
  [[nodiscard]] Outcome<Done> receive();
  [[nodiscard]] Problem lost() const;

  journal::Descriptor socket_;
  std::string name_;
  std::string output_;
  std::string input_;
  std::size_t taken_ = 0;  ///< of the input
};

/// `NAME: VALUE`, a line each; a value may be in quotes.
[[nodiscard]] std::map<std::string, std::string, std::less<>> parse_stats(std::string_view text);

}  // namespace millrace::server
