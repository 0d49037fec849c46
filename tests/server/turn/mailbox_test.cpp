#include "server/turn/mailbox.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

std::string all_of(Batch<std::string>& batch) {
  std::string text;
  for (const std::string& value : batch.values()) text += value;
  return text;
}

TEST_CASE("mailbox: what was posted is taken once, in order") {
  Mailbox<std::string> mailbox;
  Batch<std::string> batch;
  batch.add() = "a";
  batch.add() = "b";
  CHECK(mailbox.post(batch));
  CHECK(batch.is_empty());
  batch.add() = "c";
  CHECK_FALSE(mailbox.post(batch));
  Batch<std::string> taken;
  mailbox.take(taken);
  CHECK(all_of(taken) == "abc");
  batch.add() = "d";
  CHECK(mailbox.post(batch));
  mailbox.take(taken);
  CHECK(all_of(taken) == "abcd");
}

TEST_CASE("mailbox: the reader may sleep only when everything was taken") {
  Mailbox<std::string> mailbox;
  Batch<std::string> batch;
  CHECK_FALSE(mailbox.post(batch));
  batch.add() = "a";
  CHECK(mailbox.post(batch));
  Batch<std::string> taken;
  mailbox.take(taken);
  batch.add() = "b";
  CHECK(mailbox.post(batch));
}

TEST_CASE("batch: a value that was cleared is there again for the next one") {
  Batch<std::string> batch;
  batch.add() = "a";
  batch.clear();
  CHECK(batch.is_empty());
  CHECK(batch.add() == "a");
}

}  // namespace
}  // namespace millrace::server
