#pragma once

#include "engines/postgres/connection.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines::postgres {

/// Removes the beginning of the log in steps, on a connection of its own, so that nobody waits for
/// it. It goes on after it lost its connection.
class Trimmer {
 public:
  Trimmer(const Target& target, bool allows_unsynced);

  /// Everything before that message is to go.
  void trim(journal::Sequence before);

  /// Does what is possible without waiting.
  void advance();
  [[nodiscard]] pollfd interest() const;
  /// When `advance` has something to do at the latest, though nothing comes.
  [[nodiscard]] Time next() const;

 private:
  [[nodiscard]] bool is_done() const { return begin_ >= before_; }

  Connection connection_;
  journal::Sequence begin_ = 0;   ///< nothing is left before it
  journal::Sequence before_ = 0;  ///< the aim
  bool is_asking_ = false;
};

}  // namespace millrace::engines::postgres
