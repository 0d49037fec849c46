#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ports/shared_journal.hpp"
#include "http/kit/message.hpp"
#include "http/kit/metrics_page.hpp"

namespace millrace::http {

/// What a server is among those that share a log.
struct LeadershipFacts {
  std::string node;         ///< the name of this server; empty: its log is not shared
  std::string leader;       ///< that of the server that leads; empty: nobody does
  std::uint64_t epoch = 0;  ///< of the last leader; 0: nobody has ever led
  bool may_answer = true;   ///< the one that leads: its lease holds
  /// One that follows: the age of the last entry that it has applied; nullopt: there was none.
  std::optional<double> lag_seconds;
  std::uint64_t relayed = 0;                  ///< clients that it passes on to the leader
  std::uint64_t takeovers = 0;                ///< how often this process came to lead
  std::optional<SharedJournal::Figures> log;  ///< nullopt: it is not shared
  std::string problem;                        ///< why the log cannot be reached: one line; or empty
  /// One that follows: the ports of the leader to which it passes no clients on, each with its
  /// address if it has one.
  std::vector<std::string> out_of_reach = {};
  std::optional<double> since_takeover_seconds;  ///< nullopt: nobody has ever led
  std::uint64_t nodes = 0;  ///< one that leads: how many servers it has heard of lately, itself too
};

/// The metrics of these facts. `role`: "serving" or "standby".
void write_leadership(const LeadershipFacts& facts, std::string_view role, MetricsPage& page);

/// The members of `/health` that tell of a shared log.
[[nodiscard]] Json show_leadership(const LeadershipFacts& facts, std::string_view role);

/// What a server that follows answers by itself; nullopt: the leader is to be asked.
///
///     /health          200; it lives
///     /health/leader   503: it does not lead
///     /metrics         the samples of these facts, and nothing that needs a password
///     /cluster/report  503: the report of another server is for the leader, which it would
///                      otherwise seek in circles
[[nodiscard]] std::optional<Response> answer_on_standby(const LeadershipFacts& facts,
                                                        std::string_view path);

/// What a server answers that leads, but whose lease is over: it cannot tell whether another one
/// leads by now, so what it knows may be old. nullopt: its lease holds, or the question is about
/// this very server.
[[nodiscard]] std::optional<Response> answer_without_lease(const LeadershipFacts& facts,
                                                           std::string_view path);

/// What a server answers that has not reached the shared log yet.
[[nodiscard]] Response answer_without_log(std::string_view path);

/// Sends a browser on to the leader, whose web port is at `address` ("host:port"; empty: not known)
/// with encryption.
[[nodiscard]] Response redirect_to_leader(const Request& request, std::string_view address);

}  // namespace millrace::http
