#pragma once

#include <optional>

#include "core/model/types.hpp"

namespace millrace::server {

/// One that answers a client, as the main loop sees it.
class Responder {
 public:
  virtual ~Responder() = default;

  /// Hands over the output that came since the last call. It may leave once everything before `lsn`
  /// is durable, or as much of that as it tells of: then that is the answer. nullopt: there was
  /// none.
  virtual std::optional<Lsn> bind(Lsn lsn) = 0;

 private:
  friend class Turn;
  bool is_enlisted_ = false;
};

}  // namespace millrace::server
