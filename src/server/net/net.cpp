#include "server/net/net.hpp"

namespace millrace::server {

void Net::let_go(Lsn durable) {
  sockets_.let_go(durable);
  sockets_.exchange();
}

void Net::exchange() {
  sockets_.exchange();
  hand_over();
}

void Net::take(Duration longest) {
  sockets_.exchange();
  sockets_.before_wait();
  poller_.wait(has_work() ? Duration{} : longest);
  hand_over();
  poller_.run_posted();
}

bool Net::has_work() const {
  return sockets_.has_work() || (sessions_ != nullptr && sessions_->has_ready());
}

void Net::take_more(Batch<Arrival>& arrived) {
  sockets_.publish();
  sockets_.take(arrived);
}

void Net::hand_over() {
  take_more(arrived_);
  served_ = arrived_.size();
  if (sessions_ != nullptr) sessions_->serve(arrived_);
}

}  // namespace millrace::server
