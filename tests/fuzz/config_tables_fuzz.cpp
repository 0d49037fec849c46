// [throttles] and [statsd] in config files: any text is read or refused with a line, and what was
// read keeps its bounds.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "server/options/tables/statsd_options.hpp"
#include "server/options/throttle_options.hpp"
#include "server/statsd.hpp"

namespace {

using namespace millrace;

void expect(bool is_true) {
  if (!is_true) std::abort();
}

void read_limits(const server::ConfigDocument& document) {
  const auto rules = server::read_throttles({&document, 1});
  if (!rules) return expect(rules.error().text.starts_with("a.toml:"));
  expect(rules->size() <= server::kThrottleRulesMax);
  for (const ThrottleRule& rule : *rules) expect(is_valid(rule.limits));
  const ThrottleRules found = server::throttle_rules(*rules);
  if (!found.find) return;
  for (const ThrottleRule& rule : *rules) (void)found.find(rule.pattern);
}

void read_statsd(const server::ConfigDocument& document) {
  std::vector<server::IgnoredKey> ignored;
  const auto options = server::read_statsd({&document, 1}, ignored);
  if (!options) return expect(options.error().text.starts_with("a.toml:"));
  if (!*options) return;
  server::StatsdLines lines(**options);
  lines.count("jobs.count", 1, {});
  expect(lines.take().size() == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = server::ConfigDocument::parse("a.toml", text);
  if (!document) return 0;
  read_limits(*document);
  read_statsd(*document);
  return 0;
}
