#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/net/address.hpp"
#include "server/net/http_post.hpp"
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
    /// How the leader's web port speaks TLS; null: it does not. Shared: the next ones may differ.
    std::shared_ptr<const TlsContext> tls = nullptr;
  };

  /// Whether a leader may be there: not where this server is (`OwnPorts`).
  using MayReach = std::function<bool(const SocketName& leader)>;

  /// `poller` outlives it.
  NodeReporter(Poller& poller, MayReach may_reach)
      : poller_(poller), lookup_(poller), may_reach_(std::move(may_reach)) {}
  ~NodeReporter();
  NodeReporter(const NodeReporter&) = delete;
  NodeReporter& operator=(const NodeReporter&) = delete;

  /// To be called every few milliseconds. Sends what `make` returns to the leader's web port every
  /// `kReportInterval`. nullopt: no leader can be told.
  void work(const std::optional<Address>& leader, Time now, const std::function<Signed()>& make);

  /// There is a leader, and it is not where its address leads.
  [[nodiscard]] bool is_out_of_reach() const { return is_out_of_reach_; }

  /// Why the server at the leader's address was not trusted, and got no report; empty: it was, as
  /// far as is known.
  [[nodiscard]] const std::string& distrust() const { return distrust_; }

 private:
  Poller& poller_;
  NameLookup lookup_;
  const MayReach may_reach_;
  bool is_out_of_reach_ = false;
  std::string distrust_;
  std::optional<Address> leader_;  ///< that the lookup is of
  Time next_{};
  std::shared_ptr<HttpPost> sending_;  ///< shared with its handlers
};

inline constexpr Duration kReportInterval = std::chrono::seconds(1);

/// How long it may take to connect, to send a report and to be answered.
inline constexpr Duration kReportMax = std::chrono::seconds(3);

}  // namespace millrace::server
