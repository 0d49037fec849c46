#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <list>
#include <optional>

#include "core/model/types.hpp"

namespace millrace::server {

/// One that answers a client, as the main loop sees it.
class Responder {
 public:
  virtual ~Responder() = default;

  /// Executes input that was kept, if that is possible now.
  virtual void resume(Time now) = 0;

  /// Takes the output that came since the last call. It may leave once everything before `lsn` is
  /// durable, or as much of that as it tells of; what `durable` covers leaves now. Answers what the
  /// rest waits for, nullopt when nothing is left: `send_durable` follows when that is durable.
  virtual std::optional<Lsn> bind(Lsn lsn, Lsn durable) = 0;

  /// Everything before `durable` is durable: sends what may leave.
  virtual void send_durable(Lsn durable) = 0;

 private:
  friend class Turn;
  friend class CommitQueue;

  bool is_enlisted_ = false;
  /// Where it is among those that wait for the end of a pause; nullopt: it is not.
  std::optional<std::list<Responder*>::iterator> paused_at_;
  /// Where it waits for the disk, in the order of `lsn`.
  struct Place {
    Lsn lsn;  ///< of the group
    std::size_t index;
  };
  absl::InlinedVector<Place, 1> waits_at_;
};

}  // namespace millrace::server
