#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/kit/message.hpp"

namespace millrace::http {

/// Of an address, as the first line has it.
inline constexpr std::size_t kTargetBytesMax = 8192;
/// Of each further line of a head, with its end.
inline constexpr std::size_t kHeaderLineBytesMax = 8192;

/// How long the head is that `input` begins with: up to its first empty line, which counts, whether
/// lines end with CR LF or LF. There may be an empty line before it (RFC 9112, section 2.2).
/// nullopt: the rest has not arrived.
[[nodiscard]] std::optional<std::size_t> head_bytes(std::string_view input);

/// A head, whole or not, as a parser without these liberties takes it: it begins with its first
/// line, lines end with CR LF, and later versions of HTTP/1 are 1.1. If the first line ends with CR
/// LF, a bare LF in the others stays, and `find_ambiguity` refuses it: a proxy could take it for a
/// part of the line. Where the target names a host, as if the server were a proxy, that host is in
/// `Host`, and the target is the path alone (RFC 9112, section 3.2.2).
[[nodiscard]] std::string plain_head(std::string_view head);

/// Whether the request line is one of another major version than HTTP/1.
[[nodiscard]] bool is_of_other_version(std::string_view head);

/// Whether the path has a segment that is empty, `.` or `..`, so that readers see other paths in
/// it. It may end with a slash.
[[nodiscard]] bool has_odd_segment(std::string_view target);

/// What in a request's head another reader might understand differently. A proxy before us could
/// then see the request end elsewhere, or go to another host. `head` begins with the first line.
/// nullopt: all readers agree.
[[nodiscard]] std::optional<Problem> find_ambiguity(std::string_view head);

/// The answer to a head that is too long or that has an ambiguity; nullopt: `read_head` takes it.
[[nodiscard]] std::optional<Response> refuse_head(std::string_view head);

struct Head {
  Request request;  ///< without its body
  bool has_odd_path = false;
  bool stays_open = false;  ///< the client may send further requests on the connection
  bool takes_gzip = false;
};

/// The pairs of a query, or of the body of a form: `name=value&...`. A pair that is there twice
/// counts once, and one without a name does not count.
void read_query(std::string_view query, std::multimap<std::string, std::string>& params);

/// `head` is plain, and passed `refuse_head`. Of several headers of one name it takes the first.
[[nodiscard]] Head read_head(std::string_view head);

}  // namespace millrace::http
