#pragma once

#include <string>

#include "base/result.hpp"

namespace millrace::client {

/// Why a command has no result: one line for a person.
struct Failure {
  std::string text;
  std::string why = {};     ///< no connection: the reason alone
  bool is_refusal = false;  ///< the server has answered no; else it cannot be reached, or has gone
  bool makes_no_sense = false;  ///< a refusal of what no server would do
};

template <typename T>
using Reply = Result<T, Failure>;

}  // namespace millrace::client
