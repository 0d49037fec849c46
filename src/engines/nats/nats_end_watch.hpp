#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "engines/nats/nats_connection.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// Asks the leader of a stream again and again where the stream ends, without waiting for the
/// answer. So a reader notices that what it is sent comes from a server that is behind.
class NatsEndWatch {
 public:
  using Time = NatsMailbox::Time;

  /// Uses a connection that outlives it.
  NatsEndWatch(NatsConnection& connection, std::string stream)
      : connection_(connection), stream_(std::move(stream)) {}

  /// Whether a letter is for this object; then it is taken.
  bool receive(NatsMailbox::Letter& letter);

  /// To be called at `due`.
  void ask(Time now);
  [[nodiscard]] Time due() const { return due_; }

  /// At `due`: where the stream ended between one and two `kEndWait` ago. 0: not known.
  [[nodiscard]] journal::Sequence former_end() const { return former_end_; }

 private:
  NatsConnection& connection_;
  std::string stream_;
  NatsSubscription* answers_ = nullptr;
  journal::Sequence end_ = 0;         ///< as the answer to the last question tells it
  journal::Sequence former_end_ = 0;  ///< as the answer to the question before told it
  Time due_{};
};

inline constexpr std::chrono::milliseconds kEndWait(500);

}  // namespace millrace::engines
