// A whole FWP session over a server in memory: whatever a client sends, every reply that leaves is
// well-formed, and a beanstalk client can take what was pushed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/model/types.hpp"
#include "support/in_memory_server.hpp"
#include "support/queued_background.hpp"

namespace {

using millrace::test::InMemoryServer;
using millrace::test::Protocol;
using millrace::test::QueuedBackground;

/// Aborts at output that no client could parse.
void check_replies(std::string_view output) {
  while (!output.empty()) {
    const std::size_t end = output.find("\r\n");
    if (end == std::string_view::npos) std::abort();
    const std::string head(output.substr(0, end));
    output.remove_prefix(end + 2);
    if (head.find_first_of("\r\n") != std::string::npos) std::abort();
    if (head.starts_with('+') || head == "$-1") continue;
    if (head.starts_with("-ERR ") || head.starts_with("-NOTUNIQUE ")) continue;
    if (!head.starts_with('$')) std::abort();
    const std::size_t bytes = std::strtoull(head.c_str() + 1, nullptr, 10);
    if (output.size() < bytes + 2 || output.substr(bytes, 2) != "\r\n") std::abort();
    const bool is_object = output.starts_with('{') && output[bytes - 1] == '}';
    if (!is_object && !output.starts_with("b-")) std::abort();
    output.remove_prefix(bytes + 2);
  }
}

}  // namespace

/// The first byte says in which pieces the rest is sent, and whether lines are parsed as long ones.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  InMemoryServer::Options options;
  options.faktory.line_bytes_max = 4096;
  QueuedBackground background;
  if (data[0] % 2 == 1) {
    options.faktory.background = &background;
    options.faktory.in_place_bytes_max = 0;
  }
  InMemoryServer server(options);
  server.connect("a", Protocol::kFaktory);
  server.connect("b", Protocol::kBeanstalk);
  server.send("a", "HELLO {\"v\":2,\"wid\":\"w\"}\n");
  const auto pass = [&](millrace::Duration time) {
    server.advance(time);
    while (background.finish_one()) server.advance({});
  };
  server.send("a", bytes, data[0]);
  pass({});
  pass(std::chrono::seconds{2});
  server.send("b", "reserve-with-timeout 0\r\n");
  server.half_close("a");
  pass(std::chrono::hours{1});
  check_replies(server.take_output("a"));
  return 0;
}
