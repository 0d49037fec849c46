#include "server/net/io_thread.hpp"

#include <pthread.h>
#include <time.h>

#include <utility>

#include "base/check.hpp"

namespace millrace::server {

IoThread::IoThread(Poller& poller, const Log& log) : poller_(poller), log_(log) {}

IoThread::IoThread(const std::string& name, const Log& log, std::function<void()> wake)
    : name_(name),
      own_poller_(std::make_unique<Poller>()),
      poller_(*own_poller_),
      log_(log),
      wake_sessions_(std::move(wake)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

IoThread::~IoThread() {
  end();
}

void IoThread::end() {
  if (!has_thread()) return;
  is_stopping_ = true;
  poller_.wake();
  thread_.join();
}

// ---- for the sessions ---------------------------------------------------------------------------

void IoThread::add(std::unique_ptr<ClientSocket> socket) {
  ++count_;
  Order& order = ordered_.add();
  order.then = Order::Then::kOpen;
  order.to = socket.release();
}

void IoThread::submit() {
  for (const Order& order : ordered_.values()) count_ -= order.then == Order::Then::kForget ? 1 : 0;
  if (own_poller_) {
    if (orders_.post(ordered_)) poller_.wake();
  } else {
    obeyed_.swap(ordered_);
  }
  if (!has_thread()) exchange();
}

void IoThread::take(Batch<Arrival>& arrived) {
  if (own_poller_) arrivals_.take(arrived);
  if (has_thread()) return;
  for (const Arrival& arrival : told_.values()) arrived.add() = arrival;
  told_.clear();
}

void IoThread::let_go(Lsn durable, Duration lease) {
  const bool is_leased = lease != Duration::max();
  answerable_until_ = is_leased ? Steady::now() + lease : Steady::time_point::max();
  if (!is_leased && durable > 0) return note_durable(durable);
  const bool has_changed = answerable_.exchange(durable) != durable;
  // Whoever begins to wait after this looks once more.
  if ((has_changed || is_leased) && has_thread() && awaits_durable_) poller_.wake();
}

void IoThread::note_durable(Lsn durable) {
  Lsn before = answerable_;
  while (before < durable && !answerable_.compare_exchange_weak(before, durable)) {
  }
  if (before < durable && own_poller_ && awaits_durable_) poller_.wake();
}

/// The present round may have looked already.
std::uint64_t IoThread::request_round() {
  if (!has_thread()) return 0;
  const std::uint64_t number = ++requested_rounds_;
  poller_.wake();
  return number;
}

void IoThread::await_round(std::uint64_t number) {
  for (std::uint64_t done = done_rounds_; done < number; done = done_rounds_) {
    done_rounds_.wait(done);
  }
}

IoThread::Figures IoThread::figures() const {
  Figures figures{.name = name_,
                  .connections = count_,
                  .rounds = rounds_,
                  .received_bytes = received_bytes_,
                  .sent_bytes = sent_bytes_};
  clockid_t clock{};
  timespec time{};
  if (has_thread() &&
      pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) == 0 &&
      clock_gettime(clock, &time) == 0) {
    figures.processor_time =
        std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return figures;
}

// ---- the thread ---------------------------------------------------------------------------------

void IoThread::run() {
  while (!is_stopping_) {
    // All that is requested by now.
    const std::uint64_t requested = requested_rounds_;
    const bool must_see_all = requested != done_rounds_;
    exchange();
    before_wait();
    awaits_durable_ = !waiting_.empty();
    const bool waits =
        !has_work() && !must_see_all && (waiting_.empty() || answerable() == sent_durable_);
    bool has_more = poller_.wait(waits ? Duration::max() : Duration{});
    for (int i = 0; must_see_all && has_more && i < kLooksMax; ++i) has_more = poller_.wait({});
    publish();
    if (!must_see_all) continue;
    done_rounds_ = requested;
    done_rounds_.notify_all();
  }
  exchange();
  publish();
}

void IoThread::exchange() {
  rounds_.fetch_add(1, std::memory_order_relaxed);
  round_bytes_ = 0;
  if (own_poller_) orders_.take(obeyed_);
  for (Order& order : obeyed_.values()) {
    if (order.then == Order::Then::kOpen) {
      open(*order.to);
    } else if (order.then == Order::Then::kForget) {
      forget(*order.to);
    } else {
      order.to->obey(order);
    }
  }
  obeyed_.clear();
  call_all(unread_, [](ClientSocket& socket) { socket.receive_again(); });
  call_all(unsent_, [](ClientSocket& socket) { socket.send_again(); });
  const Lsn durable = answerable();
  if (std::exchange(sent_durable_, durable) == durable) return;
  call_all(waiting_, [](ClientSocket& socket) { socket.send_again(); });
}

void IoThread::before_wait() {
  call_all(reading_, [](ClientSocket& socket) { socket.await_input(); });
}

void IoThread::publish() {
  if (own_poller_ && arrivals_.post(told_)) wake_sessions_();
}

/// Each may be listed again meanwhile.
template <typename Call>
void IoThread::call_all(Sockets& sockets, Call call) {
  if (sockets.empty()) return;
  CHECK(called_.empty());
  called_.swap(sockets);
  for (ClientSocket* socket : called_) call(*socket);
  called_.clear();
}

void IoThread::open(ClientSocket& socket) {
  sockets_.emplace(&socket, &socket);
  socket.open(*this);
}

/// One that is closed is called in vain until then.
void IoThread::forget(ClientSocket& socket) {
  for (Sockets* listed : {&unsent_, &waiting_, &unread_, &reading_}) std::erase(*listed, &socket);
  sockets_.erase(&socket);
}

// ---- for the sockets ----------------------------------------------------------------------------

Lsn IoThread::answerable() const {
  const Steady::time_point until = answerable_until_;
  if (until != Steady::time_point::max() && Steady::now() >= until) return 0;
  return answerable_;
}

void IoThread::count_sent(std::size_t bytes) {
  round_bytes_ += bytes;
  sent_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void IoThread::count_received(std::size_t bytes) {
  received_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

Arrival& IoThread::tell(ClientSession& session) {
  Arrival& arrival = told_.add();
  arrival = Arrival{};
  arrival.to = &session;
  return arrival;
}

}  // namespace millrace::server
