#include "journal/writer/writer_status.hpp"

#include "support/doctest.hpp"

namespace millrace::journal {

TEST_CASE("status: it wakes when the log is durable further on, and only then") {
  WriterStatus status;
  status.begin(10, false);
  int wakes = 0;
  status.on_change([&] { ++wakes; });
  status.set_durable(10);
  CHECK(wakes == 0);
  status.set_durable(11);
  CHECK(wakes == 1);
  CHECK(status.durable() == 11);
}

TEST_CASE("status: it wakes when the disk becomes full, and when it is not any more") {
  WriterStatus status;
  int wakes = 0;
  status.on_change([&] { ++wakes; });
  CHECK(status.set_full(true));
  CHECK_FALSE(status.set_full(true));
  CHECK(status.is_full());
  CHECK(status.set_full(false));
  CHECK(wakes == 2);
}

TEST_CASE("status: what is woken sees the change") {
  WriterStatus status;
  Lsn seen = 0;
  status.on_change([&] { seen = status.durable(); });
  status.set_durable(7);
  CHECK(seen == 7);
}

TEST_CASE("status: nobody is woken after the wake-up was taken back") {
  WriterStatus status;
  int wakes = 0;
  status.on_change([&] { ++wakes; });
  status.on_change({});
  status.set_durable(1);
  CHECK(wakes == 0);
}

TEST_CASE("status: what a replay found wakes nobody") {
  WriterStatus status;
  int wakes = 0;
  status.on_change([&] { ++wakes; });
  status.begin(10, true);
  CHECK(status.durable() == 10);
  CHECK(status.is_full());
  CHECK(wakes == 0);
}

TEST_CASE("status: the oldest segment counts as shared on a full disk only") {
  WriterStatus status;
  status.set_oldest_shared(true);
  CHECK_FALSE(status.is_oldest_shared());
  status.set_full(true);
  CHECK(status.is_oldest_shared());
}

}  // namespace millrace::journal
