#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/show/screen.hpp"
#include "cli/top/top_data.hpp"

namespace millrace::cli {

/// What a person has chosen to see.
struct TopChoice {
  std::size_t order = 0;   ///< of `kTopOrders`
  std::string filter;      ///< part of the names of queues
  bool is_typing = false;  ///< the filter
  std::string queue;       ///< the marked one; empty: the first
  std::string message;     ///< of the last key, or why there is no answer
};

/// The orders of the queues, in which `s` goes from one to the next.
inline constexpr const char* kTopOrders[] = {"ready", "oldest", "in/s", "out/s", "dead", "name"};

struct TopSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

/// The names of the queues that match the filter, in their order.
[[nodiscard]] std::vector<std::string> shown_queues(const TopData& data, const TopChoice& choice);

/// All lines of the screen, exactly as many as it has rows.
[[nodiscard]] std::vector<Screen::Line> top_lines(const TopData& data, const TopChoice& choice,
                                                  TopSize size, const std::string& url);

}  // namespace millrace::cli
