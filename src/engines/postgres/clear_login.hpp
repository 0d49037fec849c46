#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>

#include "journal/posix/descriptor.hpp"

namespace millrace::engines::postgres {

/// Stands between libpq and its socket while a connection without TLS logs in, and ends it when the
/// server asks for the password itself (PostgreSQL, "Message Flow":
/// AuthenticationCleartextPassword). libpq before 16 would send it; later ones have `require_auth`
/// for this.
///
/// libpq sees one message of the server at a time: it reads on by itself, and a second request may
/// follow the first one at any moment.
class ClearLogin {
 public:
  /// Where the server is heard, in libpq's place; negative: libpq hears it itself.
  [[nodiscard]] int socket() const { return server_ ? server_->get() : -1; }
  /// Before `PQconnectPoll`: hands on one message of the server, if one is there. False: it asks
  /// for the password, and libpq has not seen that.
  [[nodiscard]] bool hand_on();
  /// After `PQconnectPoll`: hands on what libpq says, begins, and ends.
  void follow(PGconn& connection);

 private:
  void begin(int socket);
  void end();
  [[nodiscard]] std::size_t missing_bytes() const;
  void hang_up();

  std::optional<journal::Descriptor> server_;
  std::optional<journal::Descriptor> libpq_;  ///< the other end of what libpq takes for its socket
  std::string message_;                       ///< of the server, as far as it is here
  bool awaits_tls_answer_ = false;            ///< one byte instead of a message
  bool is_over_ = false;  ///< with TLS, or the login: until libpq goes to another server
};

}  // namespace millrace::engines::postgres
