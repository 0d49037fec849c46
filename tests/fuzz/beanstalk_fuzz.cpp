#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "support/house.hpp"

/// Two clients of one house, driven by the input. Its first byte is the size of the pieces that the
/// clients' bytes are cut into; then come the bytes themselves, and between them
///
///     %xFF "b"      the other client goes on
///     %xFF "t" n    the clock moves by n tenths of a second
///     %xFF "h"      the client closes its sending side
///     %xFF "c"      the client closes, and comes back on a new connection
///     %xFF "d"      the server takes no new work
///     %xFF %xFF     the byte FF
namespace {

using namespace std::chrono_literals;
using millrace::test::House;
using millrace::test::Protocol;

constexpr char kEscape = '\xff';
constexpr std::size_t kJobBytesMax = 100;

class Clients {
 public:
  explicit Clients(std::size_t cut) : house_(options()), cut_(cut) {
    for (auto& name : names_) reconnect(name);
  }

  void say(std::string_view bytes) {
    house_.send(names_[current_], bytes, cut_);
    for (const auto& name : names_) {
      std::string output = house_.take_output(name);
      CHECK(output.empty() || output.ends_with("\r\n"));
    }
  }

  /// Takes the operation and what belongs to it off the input.
  void operate(std::string_view& input) {
    char operation = take(input);
    if (operation == 'b') current_ = 1 - current_;
    if (operation == 't')
      house_.advance(millrace::Duration{100ms} * static_cast<unsigned char>(take(input)));
    if (operation == 'h') house_.half_close(names_[current_]);
    if (operation == 'c') reconnect(names_[current_]);
    if (operation == 'd') house_.drain();
    if (operation == kEscape) say({&kEscape, 1});
  }

 private:
  static House::Options options() {
    House::Options options;
    options.beanstalk.job_bytes_max = kJobBytesMax;
    return options;
  }

  static char take(std::string_view& input) {
    if (input.empty()) return '\0';
    char byte = input.front();
    input.remove_prefix(1);
    return byte;
  }

  void reconnect(std::string& name) {
    if (!name.empty()) house_.close(name);
    name = std::to_string(++connections_);
    house_.connect(name, Protocol::kBeanstalk);
  }

  House house_;
  std::size_t cut_;
  std::string names_[2];
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
