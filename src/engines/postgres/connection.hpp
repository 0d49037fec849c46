#pragma once

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/postgres/waker.hpp"
#include "engines/postgres_target.hpp"
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

using ResultPointer = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// What a statement is given, in the form that the server stores: bigint, boolean, and bytes. The
/// bytes, and the text of an id, must live until the statement was sent.
class Parameters {
 public:
  Parameters& number(std::uint64_t value) {
    std::array<char, 8>& bytes = numbers_[static_cast<std::size_t>(count_)];
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
    return bytes_of(bytes.data(), bytes.size());
  }
  Parameters& boolean(bool value) { return bytes_of(value ? "\1" : "\0", 1); }
  Parameters& bytes(std::string_view value) { return bytes_of(value.data(), value.size()); }
  Parameters& text(const std::string& value) {
    bytes_of(value.c_str(), value.size());
    formats_[static_cast<std::size_t>(count_ - 1)] = 0;
    return *this;
  }

  /// False when libpq cannot send it. Results come in the server's own form, too.
  [[nodiscard]] bool send(PGconn* connection, const char* statement) const {
    return PQsendQueryPrepared(connection, statement, count_, values_.data(), lengths_.data(),
                               formats_.data(), 1) == 1;
  }

 private:
  static constexpr std::size_t kMax = 5;

  Parameters& bytes_of(const char* begin, std::size_t length) {
    const auto place = static_cast<std::size_t>(count_++);
    values_.at(place) = begin;
    lengths_[place] = static_cast<int>(length);
    formats_[place] = 1;
    return *this;
  }

  int count_ = 0;
  std::array<const char*, kMax> values_{};
  std::array<int, kMax> lengths_{};
  std::array<int, kMax> formats_{};
  std::array<std::array<char, 8>, kMax> numbers_;
};

/// A bigint of a result in the server's own form; 0 for null.
[[nodiscard]] inline std::uint64_t number_at(const PGresult* result, int row, int column) {
  std::uint64_t value = 0;
  for (int i = 0; i < PQgetlength(result, row, column); ++i) {
    value = value << 8 | static_cast<unsigned char>(PQgetvalue(result, row, column)[i]);
  }
  return value;
}

/// A connection to the server that has the log, of which no call waits. Whoever uses it calls
/// `advance` and waits for `interest` in between. It is ready once the server was found to keep
/// what it acknowledges, and to have the log's table.
class Connection {
 public:
  enum class State { kDown, kConnecting, kChecking, kPreparing, kReady };

  /// What is done on each new connection. With a name: a statement to be used later.
  struct Step {
    std::string name;
    std::string sql;
  };
  struct Settings {
    bool allows_unsynced = false;
    bool allows_no_table = false;
    std::vector<Step> steps;
  };

  Connection(Target target, Settings settings);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_ready() const { return state_ == State::kReady; }
  /// Why it is down: one line without secrets.
  [[nodiscard]] const Problem& problem() const { return problem_; }

  /// Begins to connect when it is down, but not too soon after it failed. Whether it did so.
  bool connect();
  /// When `connect` begins to connect again.
  [[nodiscard]] Time next_attempt() const { return next_attempt_; }
  void advance();
  /// What to wait for until the next `advance`.
  [[nodiscard]] pollfd interest() const;
  void drop(std::string why);
  /// Down, with what libpq says.
  void fail();

  // When it is ready:
  [[nodiscard]] PGconn* raw() const { return connection_.get(); }
  [[nodiscard]] bool has_table() const { return has_table_; }
  /// Drawn by the server, for this connection alone.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// The last result of what was sent, once all are there; null before, and when it failed: then
  /// the connection is down. Not in a pipeline.
  ResultPointer take_result();
  /// The server did something since, but not as it should: it may have given up to wait for its
  /// standby, and says so in no other way.
  [[nodiscard]] bool was_warned() const { return was_warned_; }

 private:
  void go_on_connecting();
  void go_on_checking();
  void go_on_preparing();
  void check(const PGresult& result);
  void next_step();
  void refuse(std::string why);
  static void note(void* self, const PGresult* result);

  Target target_;
  Settings settings_;
  State state_ = State::kDown;
  Problem problem_{"not connected yet"};
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  std::optional<ClearLogin> login_;  ///< where TLS may be missing and libpq has no `require_auth`
  ResultPointer last_result_;        ///< until it is known to be the last one
  PostgresPollingStatusType wanted_ = PGRES_POLLING_WRITING;
  Time begun_;
  Time next_attempt_;
  std::size_t step_ = 0;
  bool has_table_ = false;
  bool was_warned_ = false;
  std::string id_;
};

/// Why a connection is dropped that was warned.
inline constexpr const char* kDidNotWait = "the server did not wait for its standby";

/// What the server said to a statement: one line.
[[nodiscard]] std::string text_of(const PGresult& result);

}  // namespace millrace::engines::postgres
