#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.hpp"

namespace millrace::client {

/// A client or worker of the Faktory protocol, at a server without a password.
class Faktory {
 public:
  /// `wid`: the id of a worker process; empty: it only pushes.
  [[nodiscard]] static Reply<Faktory> connect(const Target& target, std::string_view wid);

  /// `job`: a work unit, JSON.
  [[nodiscard]] Reply<Done> push(std::string_view job);
  /// A work unit; nullopt: none came within two seconds.
  [[nodiscard]] Reply<std::optional<std::string>> fetch(const std::vector<std::string>& queues);
  [[nodiscard]] Reply<Done> acknowledge(std::string_view jid);
  /// `type` and `message` go into JSON as they are.
  [[nodiscard]] Reply<Done> fail(std::string_view jid, std::string_view type,
                                 std::string_view message);
  /// That the worker still lives.
  [[nodiscard]] Reply<Done> beat();

 private:
  explicit Faktory(Connection connection) : connection_(std::move(connection)) {}
  [[nodiscard]] Reply<Done> tell(std::string_view command);

  Connection connection_;
  std::string wid_;
};

}  // namespace millrace::client
