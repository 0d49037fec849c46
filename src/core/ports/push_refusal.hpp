#pragma once

#include <string>

namespace millrace {

/// Why a job was not pushed for somebody without a session.
struct PushRefusal {
  enum class Reason {
    kInvalid,    ///< it breaks a rule of PUSH, or names a batch that is not there
    kNotUnique,  ///< another job holds the lock that it asks for
    kNoRoom,     ///< see Refusal::kNoRoom
    kStopping,   ///< the server takes no jobs any more
  };
  Reason reason;
  std::string text;  ///< one line in the words of PUSH
};

}  // namespace millrace
