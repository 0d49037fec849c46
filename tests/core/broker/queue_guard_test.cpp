#include "core/broker/queue_guard.hpp"

#include "core/state/store.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("queue guard: the queue stays while the guard exists, and no longer") {
  Store store;
  Queues& queues = store.queues();
  const QueueId id = queues.open("mail");
  {
    const QueueGuard guard(queues.at(id));
    queues.collect(id);
    CHECK(queues.has(id));
  }
  queues.collect(id);
  CHECK_FALSE(queues.has(id));
}

}  // namespace millrace::test
