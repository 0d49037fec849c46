#include "core/broker/queue_guard.hpp"

#include "core/state/store.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("queue guard: the queue stays while the guard exists, and no longer") {
  Store store;
  const QueueId id = store.open_queue("mail");
  {
    const QueueGuard guard(store.queue(id));
    store.collect_queue(id);
    CHECK(store.has_queue(id));
  }
  store.collect_queue(id);
  CHECK_FALSE(store.has_queue(id));
}

}  // namespace millrace::test
