// Lines and commands of FWP, however they are cut: what is understood is within its limits, and
// every refusal has words that fit into one line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "faktory/json/report_extract.hpp"
#include "faktory/session/command.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/reply.hpp"

namespace {

using namespace millrace::faktory;

constexpr std::size_t kLineBytesMax = 512;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_line(std::string_view line) {
  check(line.size() <= kLineBytesMax && line.find('\n') == std::string_view::npos);
  if (const auto hello = parse_hello(line)) {
    check(hello->version >= 0 && hello->version <= 255);
    check(hello->worker.wid.size() <= millrace::kWidBytesMax);
  }
  const auto command = parse_command(line);
  if (!command) {
    std::string reply;
    reply::error(reply, reply::refusal(command.error()));
    check(reply.find_first_of("\r\n") == reply.size() - 2);
    return;
  }
  if (const auto extract = extract_report(line)) {
    // What was read of it has no other members, and is valid.
    check(extract->find('\n') == std::string::npos && extract_report(*extract) == *extract);
  }
  if (const auto* fetch = std::get_if<Fetch>(&*command)) {
    check(fetch->queues.size() <= kNamedQueuesMax);
  }
  if (const auto* fail = std::get_if<Fail>(&*command)) check(!fail->jid.empty());
}

}  // namespace

/// The first byte says in which pieces the rest comes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece_bytes = std::max<std::size_t>(data[0], 1);
  LineBuffer lines(kLineBytesMax);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    lines.add(piece);
    while (const auto line = lines.next()) check_line(line->text);
    lines.compact();
    check(lines.kept_bytes() <= kLineBytesMax + 1);
  }
  return 0;
}
