#include "core/broker/view.hpp"

#include "base/check.hpp"

namespace millrace {

const Client& View::client(ClientId id) const {
  const auto found = clients_.find(id);
  CHECK(found != clients_.end());
  return found->second;
}

const Worker* View::worker_of(ClientId client) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.wid.empty()) return nullptr;
  const auto worker = workers_.find(found->second.wid);
  return worker == workers_.end() ? nullptr : &worker->second;
}

}  // namespace millrace
