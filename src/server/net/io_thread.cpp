#include "server/net/io_thread.hpp"

#include <utility>

#include "base/check.hpp"

namespace millrace::server {

void IoThread::add(std::unique_ptr<ClientSocket> socket) {
  ClientSocket& added = *socket;
  sockets_.emplace(&added, std::move(socket));
  added.open(*this);
}

void IoThread::exchange() {
  (void)orders_.post(ordered_);
  sent_bytes_ = 0;
  orders_.take(obeyed_);
  for (Order& order : obeyed_.values()) {
    if (order.then == Order::Then::kForget) {
      forget(*order.to);
    } else {
      order.to->obey(order);
    }
  }
  call_all(unread_, [](ClientSocket& socket) { socket.receive_again(); });
  call_all(unsent_, [](ClientSocket& socket) { socket.send_again(); });
  const Lsn answerable = answerable_;
  if (std::exchange(sent_durable_, answerable) == answerable) return;
  call_all(waiting_, [](ClientSocket& socket) { socket.send_again(); });
}

void IoThread::before_wait() {
  call_all(reading_, [](ClientSocket& socket) { socket.await_input(); });
}

/// Each may be listed again meanwhile.
template <typename Call>
void IoThread::call_all(Sockets& sockets, Call call) {
  CHECK(called_.empty());
  called_.swap(sockets);
  for (ClientSocket* socket : called_) call(*socket);
  called_.clear();
}

/// One that is closed is called in vain until then.
void IoThread::forget(ClientSocket& socket) {
  for (Sockets* listed : {&unsent_, &waiting_, &unread_, &reading_}) std::erase(*listed, &socket);
  sockets_.erase(&socket);
}

Arrival& IoThread::tell(ClientSession& session) {
  Arrival& arrival = told_.add();
  arrival = Arrival{};
  arrival.to = &session;
  return arrival;
}

}  // namespace millrace::server
