#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulation/client.hpp"
#include "simulation/model/model.hpp"
#include "simulation/model/workload.hpp"
#include "simulation/random.hpp"

namespace millrace::simulation {

/// What clients and a server say to each other, and the same for the model. A `Violation` is thrown
/// where they differ.
class Conversation {
 public:
  using Teller = std::function<void(const std::string&)>;

  struct Parts {
    Random& random;
    Workload& workload;
    Model& model;
    Teller tell;  ///< is told what happens; empty: nobody is
  };

  explicit Conversation(Parts parts) : parts_(std::move(parts)) {}

  /// The client has connected: the greeting, and the handshake of a worker.
  void begin(Client& client, Time now);

  /// The client closes its connection, which the main loop has forgotten.
  void end(Client& client, Time now);

  /// What the client says next: one command, or several without awaiting the replies. May be none.
  [[nodiscard]] std::vector<Command> draw(const Client& client, Time now);

  /// The replies since the last call must be those that the model foretells. They tell of all that
  /// is in the log up to `point`.
  void check_replies(Client& client, std::uint64_t point, const Teller& visit = {});

  /// A session that sends its client away may do so only where the model does.
  void check_eviction(Client& client, Time now);

 private:
  Parts parts_;
};

}  // namespace millrace::simulation
