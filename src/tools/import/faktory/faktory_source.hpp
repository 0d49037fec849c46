#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace millrace::tools {

/// Where the database of Faktory is, as `--faktory` says it:
///
///     redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]    ; USER and PASSWORD may have %XX
///     rediss://...                                        ; the same over TLS
///     unix:PATH
///     FILE                                                ; a snapshot of Redis
///     DIRECTORY                                           ; FILE is its `faktory.rdb`
struct FaktorySource {
  enum class Kind { kHost, kSocket, kFile };

  Kind kind = Kind::kFile;
  std::string host;           ///< kHost
  std::uint16_t port = 6379;  ///< kHost
  std::string path;           ///< of the socket or the snapshot
  std::string user;           ///< empty: the default one
  std::string password;       ///< empty: none
  std::uint32_t database = 0;
  bool is_tls = false;  ///< kHost
  std::string ca_file;  ///< certificates to trust; empty: those of the system

  /// For people, without the password: one line, the same for each way to write a path.
  [[nodiscard]] std::string name() const;
};

/// A problem: it is nothing of the above. The text does not have the password.
[[nodiscard]] Outcome<FaktorySource> parse_faktory_source(const std::string& text);

}  // namespace millrace::tools
