#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/net/address.hpp"
#include "server/net/poller.hpp"
#include "server/net/tls.hpp"
#include "server/relay/name_lookup.hpp"

namespace millrace::server {

/// Tells the leader of a shared log about this server, which follows: `http/kit/node_report.hpp`
/// has the form. Nothing waits for that, and nothing depends on it: a report that is lost is
/// followed by the next one.
class NodeReporter {
 public:
  struct Signed {
    std::string report;
    std::string signature;
    /// How the leader's web port speaks TLS; null: it does not. Shared with the thread that sends.
    std::shared_ptr<const TlsContext> tls = nullptr;
  };

  /// Whether a leader may be there: not where this server is (`OwnPorts`).
  using MayReach = std::function<bool(const SocketName& leader)>;

  /// `poller` outlives it.
  NodeReporter(Poller& poller, MayReach may_reach)
      : lookup_(poller), may_reach_(std::move(may_reach)) {}
  /// Waits for the report that is on its way, for up to `kReportMax` per step.
  ~NodeReporter() = default;
  NodeReporter(const NodeReporter&) = delete;
  NodeReporter& operator=(const NodeReporter&) = delete;

  /// To be called every some milliseconds. Sends what `make` returns to the leader's web port every
  /// `kReportInterval`, in a thread of its own. nullopt: no leader can be told.
  void work(const std::optional<Address>& leader, Time now, const std::function<Signed()>& make);

  /// There is a leader, and it is not where its address leads.
  [[nodiscard]] bool is_out_of_reach() const { return is_out_of_reach_; }

  /// Why the server at the leader's address was not trusted, and got no report; empty: it was, as
  /// far as is known.
  [[nodiscard]] const std::string& distrust() const { return distrust_; }

 private:
  [[nodiscard]] bool is_sending() const;

  NameLookup lookup_;
  const MayReach may_reach_;
  bool is_out_of_reach_ = false;
  std::string distrust_;
  std::optional<Address> leader_;  ///< that the lookup is of
  Time next_{};
  std::future<std::string> sending_;  ///< the next `distrust_`
};

inline constexpr Duration kReportInterval = std::chrono::seconds(1);

/// How long to connect, to send or to be answered may take.
inline constexpr Duration kReportMax = std::chrono::seconds(1);

}  // namespace millrace::server
