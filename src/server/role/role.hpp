#pragma once

#include <optional>

#include "base/check.hpp"
#include "core/ports/journal.hpp"

namespace millrace::server {

/// What a server is to its log and to its clients at a time.
///
///     role        reads the log            appends        its ports      a client gets
///     ---------   ----------------------   ------------   ------------   ------------------------
///     replaying   all of it                nothing        not open yet   no connection
///     standby     what the leader writes   its claim      relaying       the leader's answers
///     serving     bodies                   in its epoch   listening      answers
///     stopping    bodies                   in its epoch   closed         answers, and then the end
///
///     replaying ──has_replayed()──▶ standby ──lead(epoch)──▶ serving
///                                                               any ──stop()──▶ stopping
///
/// A serving server that has lost touch with its log keeps its role: its clients are closed, and
/// new ones wait as at a standby (docs/internals/decisions/nodes.md).
///
/// A server whose log nobody else can append to is a standby for no time.
///
/// A standby stops when the log was trimmed beyond what it has applied. A serving one stops when
/// another server leads the log: it has applied records that the log will never have, and nothing
/// takes those back. From then on it answers nothing more, not even what it has executed; nor does
/// a stopping server that is deposed. Another server of the same process then reads the log anew.
class Role {
 public:
  enum class Name { kReplaying, kStandby, kServing, kStopping };

  [[nodiscard]] Name name() const { return name_; }

  /// Everything in the log is applied.
  void has_replayed() { move_to(Name::kStandby); }

  /// The server's claim of this epoch is in the log, and everything before it is applied.
  void lead(Epoch epoch) {
    move_to(Name::kServing);
    epoch_ = epoch;
  }

  /// The process is to end.
  void stop() { move_to(Name::kStopping); }

  /// The epoch to append and to answer in; nullopt: the server may do neither.
  [[nodiscard]] std::optional<Epoch> epoch() const { return epoch_; }

  /// Whether new clients are let in.
  [[nodiscard]] bool admits_clients() const { return name_ == Name::kServing; }

  /// The table's moves.
  [[nodiscard]] static constexpr bool can_move(Name from, Name to) {
    switch (to) {
      case Name::kReplaying:
        return false;
      case Name::kStandby:
        return from == Name::kReplaying;
      case Name::kServing:
        return from == Name::kStandby;
      case Name::kStopping:
        return from != Name::kStopping;
    }
    return false;
  }

 private:
  void move_to(Name name) {
    CHECK(can_move(name_, name));
    name_ = name;
  }

  Name name_ = Name::kReplaying;
  std::optional<Epoch> epoch_;
};

}  // namespace millrace::server
