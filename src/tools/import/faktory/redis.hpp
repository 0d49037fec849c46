#pragma once

#include <hiredis/hiredis.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "client/connection.hpp"
#include "tools/import/faktory/faktory_source.hpp"

namespace millrace::tools {

/// One connection to a Redis: hiredis writes commands and reads answers, and the connection is that
/// to any job server, since hiredis 0.14 has no TLS. Waits a minute for each answer at most.
/// Problems name the Redis and never a password.
class Redis {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  /// Never null. Its parts may be of any type: the server may be a foreign one.
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  /// To `source.host` or the socket `source.path`; with the password, if there is one. `name`: what
  /// problems call it. `is_passing` in a problem: nobody listens, or it is loading.
  [[nodiscard]] static Outcome<Redis> connect(const FaktorySource& source, std::string name);

  /// Commands may be sent before the answers to others were received.
  void send(std::initializer_list<std::string_view> words);
  /// The answer to the first command that has none yet. An error that Redis answers is a problem.
  [[nodiscard]] Outcome<Reply> receive();

  [[nodiscard]] Outcome<Reply> ask(std::initializer_list<std::string_view> words) {
    send(words);
    return receive();
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };
  Redis(client::Connection connection, std::string name);
  [[nodiscard]] Outcome<Done> log_in(const FaktorySource& source);
  [[nodiscard]] Outcome<Done> flush();
  [[nodiscard]] Outcome<Done> feed();
  [[nodiscard]] Problem lost(const client::Failure& failure) const;

  client::Connection connection_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::string output_;
  std::string name_;
};

/// The bytes of a string, a status or an error; of anything else none.
[[nodiscard]] std::string_view text_of_reply(const redisReply& reply);

}  // namespace millrace::tools
