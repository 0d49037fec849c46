#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "client/target.hpp"

struct bio_st;
struct ssl_ctx_st;

namespace millrace::client {

/// Why a command has no result: one line for a person.
struct Failure {
  std::string text;
  std::string why = {};     ///< no connection: the reason alone
  bool is_refusal = false;  ///< the server has answered no; else it cannot be reached, or has gone
  bool makes_no_sense = false;  ///< a refusal of what no server would do
};

template <typename T>
using Reply = Result<T, Failure>;

/// A connection to a job port. Calls wait, for as long as the patience allows. After a failure it
/// is of no more use.
class Connection {
 public:
  [[nodiscard]] static Reply<Connection> open(const Target& target);

  [[nodiscard]] Reply<Done> send(std::string_view bytes);
  /// The next line, without its end.
  [[nodiscard]] Reply<std::string> line();
  /// The same for the first line of a server that speaks first: one that does not come within some
  /// seconds does not come.
  [[nodiscard]] Reply<std::string> greeting();
  /// That many bytes, and the end of a line after them, which is left out.
  [[nodiscard]] Reply<std::string> body(std::size_t size);

  /// The bytes that have come: one at least.
  [[nodiscard]] Reply<std::string> some();

  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  struct Free {
    void operator()(bio_st* bio) const;
    void operator()(ssl_ctx_st* context) const;
  };
  Connection() = default;

  [[nodiscard]] Reply<Done> connect(const Target& target);
  [[nodiscard]] Reply<Done> encrypt(const Target& target);
  [[nodiscard]] Reply<Done> receive();
  void wait_at_most(int seconds);
  [[nodiscard]] Failure gone(const std::string& why) const;
  /// By the server, as far as errno and OpenSSL tell.
  [[nodiscard]] Failure closed() const;

  std::string peer_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::unique_ptr<bio_st, Free> bio_;
  std::string input_;
  std::size_t taken_ = 0;  ///< of `input_`
  bool has_received_ = false;
};

}  // namespace millrace::client
