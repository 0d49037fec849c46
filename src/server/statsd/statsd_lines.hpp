#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/statsd/statsd_options.hpp"

namespace millrace::server {

/// A tag of one line. One with an empty value is left out.
struct StatsdTag {
  std::string_view key;
  std::string_view value;
};

/// Writes metrics as lines, and lines as datagrams:
///
///     line     = namespace name ":" value "|" kind [ "|#" tag *( "," tag ) ]
///     datagram = line *( LF line )
///
/// Bytes that would end a part of a line become `_`, wherever they come from; so do those that are
/// no UTF-8 or do not print.
class StatsdLines {
 public:
  explicit StatsdLines(const StatsdOptions& options);

  using Tags = std::vector<StatsdTag>;
  void count(std::string_view name, std::uint64_t value, const Tags& tags = {});
  void gauge(std::string_view name, double value, const Tags& tags = {});
  void milliseconds(std::string_view name, double value, const Tags& tags = {});

  /// All datagrams since the last call, none of them longer than `kStatsdDatagramBytesMax`.
  [[nodiscard]] std::vector<std::string> take();

 private:
  void add(std::string_view name, double value, std::string_view kind, const Tags& tags);

  std::string prefix_;
  std::string tags_;  ///< of all lines, separated by commas
  std::size_t lines_max_;
  std::string line_;
  std::vector<std::string> datagrams_;
  std::size_t lines_ = 0;  ///< of the last datagram
};

/// What fits into a packet of an Ethernet with IPv6.
inline constexpr std::size_t kStatsdDatagramBytesMax = 1'432;

/// Of a queue's name and of a jobtype, so much is in a line.
inline constexpr std::size_t kStatsdPartBytesMax = 200;

}  // namespace millrace::server
