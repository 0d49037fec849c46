#pragma once

#include <optional>

#include "engines/postgres/connection.hpp"
#include "engines/postgres/waker.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines::postgres {

/// Reads the log, on a connection of its own.
class Reader {
 public:
  Reader(const Target& target, bool allows_unsynced, Waker& waker);

  [[nodiscard]] Outcome<journal::LogService::Extent> extent();

  /// An attempt to connect that the last call has left goes on, as far as it can without waiting.
  void go_on() { connection_.advance(); }
  /// What to wait for until then: nothing where there is no such attempt.
  [[nodiscard]] pollfd interest() const {
    return connection_.is_ready() ? pollfd{-1, 0, 0} : connection_.interest();
  }

  /// What is there now; none when the waker woke before it was known. The waker is not taken.
  [[nodiscard]] Outcome<std::optional<journal::LogService::Chunk>> look(journal::Sequence after,
                                                                        std::size_t bytes_max);

 private:
  enum class Hearing { kDeaf, kHears };  ///< whether the waker ends the waiting
  enum class Waited { kLooked, kLate, kRang };

  /// The result of a statement, or null when the waker woke first.
  Outcome<ResultPointer> ask(const char* statement, const Parameters& parameters, Hearing hearing);
  Outcome<ResultPointer> result_of_asking(Hearing hearing);
  /// Until there is a connection that has nothing in flight. False when the waker woke first.
  Outcome<bool> get_ready(Hearing hearing);
  /// For the connection.
  Waited wait(Time until, Hearing hearing);

  Connection connection_;
  Waker& waker_;
  bool is_asking_ = false;         ///< a result is due that nobody waits for any more
  std::optional<Time> grace_end_;  ///< set when the waker is woken: what is asked may still come
};

}  // namespace millrace::engines::postgres
