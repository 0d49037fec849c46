#pragma once

#include <memory>

#include "server/net/address.hpp"
#include "server/net/peer.hpp"
#include "server/net/poller.hpp"

namespace millrace::server {

/// Finds the addresses of a host. A name server may take many seconds to answer, so a name is asked
/// for in a thread of its own; one that is forgotten meanwhile ends by itself. Asio's own lookups
/// in the background share one thread, so a slow name would hold up all others, and the end of the
/// process, which waits for that thread.
class NameLookup {
 public:
  /// The poller is woken when a name was found, or was not. It must outlive the lookup.
  explicit NameLookup(Poller& poller) : poller_(poller) {}
  ~NameLookup() { forget(); }
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  /// Asks for this address, and for nothing that was asked for before.
  void begin(const Address& address);
  void forget();

  enum class State { kNone, kAsking, kFound, kNotFound };
  [[nodiscard]] State state() const;

  /// When `kFound`.
  [[nodiscard]] SocketName name() const;

 private:
  struct Question;

  Poller& poller_;
  std::shared_ptr<Question> question_;  ///< shared with the thread that asks
};

}  // namespace millrace::server
