#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "dialogue.hpp"
#include "shares.hpp"

namespace bench {
namespace {

/// Each connection to a server has a port of its own.
constexpr std::size_t kConnectionsMax = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kOperationsMax = 1'000'000'000;
constexpr std::size_t kDepthMax = 10'000;
constexpr std::size_t kRateMax = 10'000'000;
constexpr double kSecondsMax = 1'000'000;
constexpr int kPidMax = 1 << 22;  // see proc(5), pid_max

/// CLI::Range takes "nan", too.
std::string refuse_nan(const std::string& text) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number) && !std::isnan(number);
  return is_number ? "" : "no number: " + text;
}

void add_load(CLI::App& app, Plan& plan) {
  app.add_option("--port", plan.port, "of the protocol, on 127.0.0.1")
      ->check(CLI::Range(std::uint16_t{1}, std::numeric_limits<std::uint16_t>::max()));
  app.add_option("--connections", plan.connections, "how many clients there are")
      ->check(CLI::Range(std::size_t{1}, kConnectionsMax));
  app.add_option("--operations", plan.operations,
                 "of all connections together, unless SIGTERM comes")
      ->check(CLI::Range(std::size_t{1}, kOperationsMax));
  app.add_option("--seconds", plan.seconds, "if not 0: work for so long instead, or until SIGTERM")
      ->check(CLI::Range(0.0, kSecondsMax))
      ->check(refuse_nan);
  app.add_option("--depth", plan.depth,
                 "commands in flight on a connection; cycles go step by step")
      ->check(CLI::Range(std::size_t{1}, kDepthMax));
  app.add_option("--rate", plan.rate, "if not 0: operations a second, as an open loop")
      ->check(CLI::Range(std::size_t{0}, kRateMax));
  app.add_flag("--drain", plan.is_draining,
               "at the end take all jobs that are left; each that was put must have come once");
  app.add_option("--server-pid", plan.server_pid, "if not 0: tell the processor time of this one")
      ->check(CLI::Range(0, kPidMax));
}

void add_jobs(CLI::App& app, Plan& plan, std::string& sizes) {
  app.add_option("--queues", plan.queues, "how many the connections are spread over")
      ->check(CLI::Range(std::size_t{1}, kConnectionsMax));
  app.add_option("--prefix", plan.prefix, "of the queues' names, which end in their numbers");
  app.add_option("--delay", plan.delay_seconds, "of a put, in seconds")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  app.add_option("--at", plan.at, "of a PUSH, when it is due (RFC 3339); else at once");
  app.add_option("--body-bytes", sizes,
                 "of a job's body or argument; a mix is BYTES:SHARE,..., and the shares are of "
                 "the jobs");
}

/// CLI11's texts may have several lines; a refusal has one.
[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(std::string(text.substr(0, text.find('\n'))));
}

}  // namespace

Options read_options(int argc, const char* const* argv) {
  Options options;
  std::string sizes = "128";
  CLI::App app(
      "Load for one protocol of a running server, which must have none of the queues' jobs");
  app.option_defaults()->always_capture_default();
  app.add_option("--work", options.works,
                 "put and put-cycle (put, reserve, delete), or push and push-cycle (PUSH, FETCH, "
                 "ACK); a mix is WORK:SHARE,..., and the shares are of the connections");
  add_load(app, options.plan);
  add_jobs(app, options.plan, sizes);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
    return options;
  } catch (const CLI::Error& error) {
    refuse(error.what());
  }
  options.plan.works = expand_shares(options.works);
  options.plan.body_bytes = expand_sizes(sizes);
  check(options.plan);
  return options;
}

}  // namespace bench
