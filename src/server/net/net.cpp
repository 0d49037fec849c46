#include "server/net/net.hpp"

#include <algorithm>
#include <string>

#include "server/net/connections.hpp"

namespace millrace::server {

Net::Net(Poller& poller, const Log& log, std::size_t threads) : poller_(poller) {
  for (std::size_t i = 1; i <= threads; ++i) {
    threads_.push_back(
        std::make_unique<IoThread>("io_" + std::to_string(i), log, [this] { poller_.wake(); }));
  }
  if (threads > 0) {
    ends_.emplace();
  } else {
    threads_.push_back(std::make_unique<IoThread>(poller, log));
    inline_ = threads_.front().get();
  }
}

IoThread& Net::choose() {
  return **std::min_element(threads_.begin(), threads_.end(),
                            [](const auto& a, const auto& b) { return a->count() < b->count(); });
}

void Net::submit() {
  for (const auto& thread : threads_) thread->submit();
}

void Net::let_go(Lsn durable, Duration lease) {
  for (const auto& thread : threads_) thread->let_go(durable, lease);
  submit();
}

void Net::note_durable(Lsn durable) {
  for (const auto& thread : threads_) thread->note_durable(durable);
}

void Net::exchange() {
  submit();
  hand_over();
}

void Net::end() {
  submit();
  for (const auto& thread : threads_) thread->end();
}

void Net::take(Duration longest) {
  submit();
  if (inline_ != nullptr) inline_->before_wait();
  poller_.wait(has_work() ? Duration{} : longest);
  hand_over();
  poller_.run_posted();
}

bool Net::has_work() const {
  if (inline_ != nullptr && inline_->has_work()) return true;
  if (connections_ != nullptr && connections_->has_ready()) return true;
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread->has_orders(); });
}

void Net::take_more(Batch<Arrival>& arrived) {
  arrived.clear();
  if (inline_ != nullptr) inline_->publish();
  for (const auto& thread : threads_) thread->take(arrived);
}

bool Net::watch_end(int descriptor, IoThread& thread) {
  return !ends_ || ends_->add(descriptor, thread);
}

void Net::forget_end(int descriptor) {
  if (ends_) ends_->remove(descriptor);
}

bool Net::await_ends() {
  if (!ends_) return false;
  const std::vector<IoThread*> threads = ends_->take();
  if (threads.empty()) return false;
  // So that sockets are open there, and read on, that were ordered to.
  submit();
  std::vector<std::uint64_t> rounds;
  for (IoThread* thread : threads) rounds.push_back(thread->request_round());
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i]->await_round(rounds[i]);
  return true;
}

void Net::hand_over() {
  take_more(arrived_);
  served_ = arrived_.size();
  if (connections_ != nullptr) connections_->serve(arrived_);
}

std::vector<IoThread::Figures> Net::figures() const {
  std::vector<IoThread::Figures> all;
  for (const auto& thread : threads_) all.push_back(thread->figures());
  return all;
}

}  // namespace millrace::server
