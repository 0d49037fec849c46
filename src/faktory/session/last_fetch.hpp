#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/requests.hpp"

namespace millrace::faktory {

/// The last FETCH of a client that names many queues. A worker says the same line again and again,
/// and to read it, and to look up each name, would cost several times as much as the rest.
class LastFetch {
 public:
  static constexpr std::size_t kQueuesMin = 8;
  static constexpr std::size_t kLineBytesMax = 16 * 1024;

  /// False: it is not worth it, or too long.
  [[nodiscard]] static bool is_worth_it(std::string_view line, std::size_t queues) {
    return queues >= kQueuesMin && line.size() <= kLineBytesMax;
  }

  /// `queues` are the names that the line was found to ask for, and point into it.
  LastFetch(std::string_view line, const std::vector<std::string_view>& queues) : line_(line) {
    for (const std::string_view name : queues) {
      const auto at = static_cast<std::size_t>(name.data() - line.data());
      request_.queues.push_back(std::string_view(line_).substr(at, name.size()));
    }
    request_.known = &known_;
  }

  LastFetch(const LastFetch&) = delete;
  LastFetch& operator=(const LastFetch&) = delete;

  /// Whether it was this very line.
  [[nodiscard]] bool is(std::string_view line) const { return line == line_; }

  /// It names the queues, and where they were found. What else it asks for changes each time.
  [[nodiscard]] ReserveRequest& request() { return request_; }

 private:
  const std::string line_;
  KnownQueues known_;
  ReserveRequest request_;  ///< the names are in `line_`
};

}  // namespace millrace::faktory
