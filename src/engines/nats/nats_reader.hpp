#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "engines/nats/nats_connection.hpp"
#include "engines/nats/nats_entry.hpp"
#include "engines/nats/nats_stream.hpp"
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

  /// Whether an arrival is for this object; then it is taken.
  bool receive(NatsMailbox::Arrival& arrival);

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

/// Reads a stream in order. The server sends what is new, and no more than the reader confirms to
/// have taken (its flow control). Whatever goes wrong with that, the reader begins again. While the
/// server does not answer that it begins, the reader asks the stream for one message after another.
/// It does so too when the server is behind the stream's leader, and lets another server send.
class NatsReader {
 public:
  using Chunk = journal::LogService::Chunk;
  using Time = NatsMailbox::Time;
  using Duration = Time::duration;

  /// Uses a connection and a stream that outlive it.
  NatsReader(NatsConnection& connection, NatsStream& stream);

  /// Reads on after that message, or begins there.
  void seek(journal::Sequence after, Time now);
  /// Lets the server send nothing more.
  void stop(Time now);

  /// Whether an arrival is for this object; then it is taken.
  bool receive(NatsMailbox::Arrival& arrival, Time now);
  void lose_connection(Time now);
  /// Puts together what has arrived, and begins again where that is needed.
  void proceed(std::size_t bytes_max, Time now);

  /// Something for the caller: an entry, a trimmed log, or a problem that does not pass by itself.
  [[nodiscard]] bool has_result() const;
  [[nodiscard]] Outcome<Chunk> take();
  /// When `proceed` is due at the latest.
  [[nodiscard]] Time due() const;
  /// The server that sent is behind, and the one that this is connected to answers late: the caller
  /// may connect to another one.
  [[nodiscard]] bool is_slow() const { return is_slow_; }
  /// How often the server was asked to send.
  [[nodiscard]] std::uint64_t begun() const { return begun_; }

 private:
  /// What a server says of a message that it sends.
  struct Delivery {
    journal::Sequence sequence = 0;
    journal::Sequence pending = 0;  ///< messages that it has after this one
  };
  struct Arrived {
    NatsMessage message;
    std::optional<Delivery> delivery;  ///< nullopt: a message of the server itself
  };

  [[nodiscard]] static std::optional<Delivery> delivery_of(const natsMsg& message);
  void end_subscription(Time now);
  void begin(NatsEntryAssembler::Start start, Time now);
  void compare_with_leader(Time now);
  [[nodiscard]] bool looks_at_stream() const { return !was_heard_ || missed_ != 0; }
  void look_at_stream(std::size_t bytes_max, Time now);
  void add(const natsMsg& message, journal::Sequence sequence, Time now);
  void find_gap(journal::Sequence sequence, Time now);
  void answer_control(const natsMsg& message);
  void note_control(const natsMsg& message, Time now);

  NatsConnection& connection_;
  NatsStream& stream_;
  NatsSubscription* subscription_ = nullptr;
  std::uint64_t begun_ = 0;
  NatsEntryAssembler assembler_;
  std::deque<Arrived> arrived_;
  journal::Sequence seen_ = 0;
  NatsEndWatch end_watch_;
  journal::Sequence server_last_ = 0;  ///< what the server had when it sent something last
  journal::Sequence missed_ = 0;  ///< that the stream has, and the server had not; 0: none is known
  bool is_slow_ = false;
  Time heard_at_;                 ///< of the server, or when it was asked to begin
  bool was_heard_ = true;         ///< since it was asked
  Duration answer_wait_{};        ///< for an answer to that
  Time look_at_;                  ///< while `looks_at_stream`: when to ask the stream itself
  std::optional<Time> retry_at_;  ///< when something went wrong: nothing more is read until then
  journal::Sequence gap_at_ = 0;  ///< the message that was missing when it began for the last time
  Chunk chunk_;
  std::size_t chunk_bytes_ = 0;
  std::optional<Problem> problem_;
};

}  // namespace millrace::engines
