#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engines/nats/nats_connection.hpp"
#include "engines/nats/nats_entry.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// Sends entries to a stream, and learns what became of them.
class NatsPublisher {
 public:
  using Answer = journal::LogService::Answer;
  using Refusal = journal::LogService::Refusal;
  using Time = NatsMailbox::Time;

  /// Uses a connection that outlives it.
  NatsPublisher(NatsConnection& connection, std::string stream, std::string subject);

  /// Listens for acknowledgements.
  [[nodiscard]] Outcome<Done> open(Time now);

  /// Of an entry, in one message, by what the server takes that it is connected to.
  [[nodiscard]] std::size_t part_bytes_max() const;
  void append(journal::LogService::Entry entry, Time now);

  /// Whether an arrival is for this object; then it is taken.
  bool receive(NatsMailbox::Arrival& arrival, Time now);
  /// Everything in flight is in doubt.
  void lose_connection();
  /// Sends what waited for acknowledgements, and gives up what waited too long for its own.
  void proceed(Time now);

  /// In the order of the appends, each once.
  [[nodiscard]] std::vector<Answer> take_answers();
  [[nodiscard]] bool has_answers() const { return !answers_.empty() || is_refusing_; }
  /// Nothing is in flight, and there are no answers.
  [[nodiscard]] bool is_idle() const { return !has_answers() && pending_.empty(); }
  /// When `proceed` is due at the latest.
  [[nodiscard]] std::optional<Time> due() const;

 private:
  /// An append without an answer.
  struct Pending {
    journal::LogService::Entry entry;  ///< without its bytes, once all parts are sent
    journal::Sequence sent = 0;        ///< parts
  };
  /// A message without an acknowledgement.
  struct Sent {
    std::uint64_t id = 0;
    journal::Sequence sequence = 0;
    std::size_t bytes = 0;
    bool is_last_part = true;
    Time at;
    std::optional<Outcome<Done>> answer;
    Refusal refusal = Refusal::kUnknown;  ///< when the answer is a problem
  };

  void send(Time now);
  [[nodiscard]] bool may_send() const;
  void note(Sent& sent, const natsMsg& answer) const;
  [[nodiscard]] natsStatus send_part(const Pending& pending, Time now);
  void settle();
  void refuse(Refusal refusal, std::string problem);
  void begin_run(journal::Sequence known);

  NatsConnection& connection_;
  std::string stream_;
  std::string subject_;
  const NatsSubscription* acknowledgements_ = nullptr;
  std::string run_prefix_;
  std::uint64_t runs_ = 0;
  std::string run_;
  /// When nothing is in flight, the next message is sent alone, and more when it is acknowledged.
  /// So when two servers append at the same moment, nothing of the one that is refused gets in the
  /// way of the other.
  bool is_alone_ = true;
  journal::Sequence known_ = 0;  ///< all up to here is stored, as the answers said
  journal::Sequence tail_ = 0;   ///< what the last append answered
  std::deque<Pending> pending_;
  std::size_t first_unsent_ = 0;  ///< in `pending_`
  std::deque<Sent> sent_;
  std::size_t sent_bytes_ = 0;
  std::uint64_t next_id_ = 1;
  std::vector<Answer> answers_;
  bool is_refusing_ = false;  ///< until the refusal was taken
  Refusal refusal_ = Refusal::kUnknown;
};

}  // namespace millrace::engines
