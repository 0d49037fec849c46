#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "beanstalk/command.hpp"

/// The parser alone: what it takes off the input, and that a command that has not arrived as a
/// whole is never taken for another one.
namespace {

using namespace millrace::beanstalk;

constexpr std::size_t kJobBytesMax = 100;

bool needs_more(const Parsed& parsed) {
  return std::holds_alternative<NeedMore>(parsed.result);
}

/// Of an overlong line, how it begins is enough.
bool is_too_long(const Parsed& parsed) {
  const auto* refused = std::get_if<Refused>(&parsed.result);
  return refused && refused->reason == Refused::Reason::kLineTooLong;
}

/// With less than the whole command there is none yet.
void check_prefixes(std::string_view command) {
  for (std::size_t size = 0; size < command.size(); ++size) {
    const Parsed parsed = parse_command(command.substr(0, size), kJobBytesMax);
    CHECK(needs_more(parsed));
    CHECK(std::get<NeedMore>(parsed.result).bytes <= command.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input{reinterpret_cast<const char*>(data), size};
  while (!input.empty()) {
    const Parsed parsed = parse_command(input, kJobBytesMax);
    CHECK(parsed.consumed <= input.size());
    if (needs_more(parsed)) {
      CHECK(parsed.consumed == 0);
      CHECK(std::get<NeedMore>(parsed.result).bytes > input.size());
      break;
    }
    if (is_too_long(parsed)) {
      const SkippedLine skipped = skip_line(input);
      if (!skipped.is_complete) break;
      CHECK(input.substr(0, skipped.consumed).ends_with("\r\n"));
      input.remove_prefix(skipped.consumed);
      continue;
    }
    CHECK(parsed.consumed > 0);
    check_prefixes(input.substr(0, parsed.consumed));
    input.remove_prefix(parsed.consumed);
  }
  return 0;
}
