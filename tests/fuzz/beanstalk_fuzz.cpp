#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "beanstalk/argument.hpp"
#include "support/in_memory_server.hpp"

/// Two clients of one server, driven by the input. Its first byte is the size of the pieces that
/// the clients' bytes are cut into; then come the bytes themselves, and between them
///
///     %xFF "b"      the other client goes on
///     %xFF "t" n    the clock moves by n tenths of a second
///     %xFF "h"      the client closes its sending side
///     %xFF "c"      the client closes, and connects again
///     %xFF "d"      the server takes no new work
///     %xFF %xFF     the byte FF
namespace {

using namespace std::chrono_literals;
using millrace::test::InMemoryServer;
using millrace::test::Protocol;

/// All that the server can say, without what follows it: a number, a name, or an id and a size.
constexpr std::string_view kWords[] = {"BAD_FORMAT", "BURIED",        "DEADLINE_SOON",  "DELETED",
                                       "DRAINING",   "EXPECTED_CRLF", "JOB_TOO_BIG",    "KICKED",
                                       "NOT_FOUND",  "NOT_IGNORED",   "PAUSED",         "RELEASED",
                                       "TIMED_OUT",  "TOUCHED",       "UNKNOWN_COMMAND"};
constexpr std::string_view kWordsBeforeNumber[] = {"INSERTED ", "KICKED ", "WATCHING "};
constexpr std::string_view kWordsBeforeBody[] = {"FOUND ", "RESERVED ", "OK "};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Takes one line off the front.
std::string_view take_line(std::string_view& output) {
  const std::size_t end = output.find("\r\n");
  CHECK(end != std::string_view::npos);
  const std::string_view line = output.substr(0, end);
  output.remove_prefix(end + 2);
  return line;
}

/// Takes the body that the line announces, if it does.
bool take_body(std::string_view line, std::string_view& output) {
  for (const std::string_view word : kWordsBeforeBody) {
    if (!line.starts_with(word)) continue;
    const std::string_view digits = line.substr(line.rfind(' ') + 1);
    CHECK(is_number(digits));
    const std::size_t size = std::stoull(std::string(digits));
    CHECK(output.size() >= size + 2 && output.substr(size, 2) == "\r\n");
    output.remove_prefix(size + 2);
    return true;
  }
  return false;
}

bool is_plain_reply(std::string_view line) {
  for (const std::string_view word : kWords) {
    if (line == word) return true;
  }
  for (const std::string_view word : kWordsBeforeNumber) {
    if (line.starts_with(word)) return is_number(line.substr(word.size()));
  }
  return line.starts_with("USING ") && millrace::beanstalk::is_tube_name(line.substr(6));
}

/// How many replies these are; each must be one that there can be.
std::size_t count_replies(std::string_view output) {
  std::size_t count = 0;
  for (; !output.empty(); ++count) {
    const std::string_view line = take_line(output);
    CHECK(take_body(line, output) || is_plain_reply(line));
  }
  return count;
}

constexpr char kEscape = '\xff';
constexpr std::size_t kJobBytesMax = 100;

class Clients {
 public:
  explicit Clients(std::size_t cut) : server_(options()), cut_(cut) {
    for (int client : {0, 1}) reconnect(client);
  }

  void say(std::string_view bytes) {
    lines_[current_] += std::count(bytes.begin(), bytes.end(), '\n');
    server_.send(names_[current_], bytes, cut_);
    check_replies();
  }

  /// Takes the operation and what belongs to it off the input.
  void operate(std::string_view& input) {
    char operation = take(input);
    if (operation == 'b') current_ = 1 - current_;
    if (operation == 't')
      server_.advance(millrace::Duration{100ms} * static_cast<unsigned char>(take(input)));
    if (operation == 'h') server_.half_close(names_[current_]);
    if (operation == 'c') reconnect(current_);
    if (operation == 'd') server_.drain();
    if (operation == kEscape) say({&kEscape, 1});
    check_replies();
  }

 private:
  static InMemoryServer::Options options() {
    InMemoryServer::Options options;
    options.beanstalk.job_bytes_max = kJobBytesMax;
    return options;
  }

  static char take(std::string_view& input) {
    if (input.empty()) return '\0';
    char byte = input.front();
    input.remove_prefix(1);
    return byte;
  }

  void reconnect(int client) {
    std::string& name = names_[client];
    if (!name.empty()) server_.close(name);
    name = std::to_string(++connections_);
    server_.connect(name, Protocol::kBeanstalk);
    lines_[client] = 0;
  }

  /// No reply without a command, which takes at least one line.
  void check_replies() {
    for (int client : {0, 1}) {
      const std::size_t replies = count_replies(server_.take_output(names_[client]));
      CHECK(replies <= lines_[client]);
      lines_[client] -= replies;
    }
  }

  InMemoryServer server_;
  std::size_t cut_;
  std::string names_[2];
  std::size_t lines_[2] = {0, 0};  ///< sent, and not answered yet
  int current_ = 0;
  int connections_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input{reinterpret_cast<const char*>(data), size};
  if (input.empty()) return 0;
  Clients clients{static_cast<unsigned char>(input.front())};
  input.remove_prefix(1);
  while (!input.empty()) {
    std::string_view bytes = input.substr(0, input.find(kEscape));
    clients.say(bytes);
    input.remove_prefix(bytes.size());
    if (input.empty()) break;
    input.remove_prefix(1);
    clients.operate(input);
  }
  return 0;
}
