#include "core/state/features/tokens.hpp"

#include <string>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

std::string hash_of(char which) {
  return std::string(kTokenHashBytes, which);
}

TokenAdded token_of(char which, const std::string& name) {
  return {.token = Token{.hash = hash_of(which), .name = name, .user = "ana", .queues = {"*"}}};
}

/// As the ledger does it, with one record a batch.
void write_token(Tokens& tokens, char which, const std::string& name, Lsn at) {
  tokens.apply(token_of(which, name));
  tokens.place(at);
}

}  // namespace

TEST_CASE("tokens: one is found by its hash and by its id, and no other way") {
  Tokens tokens;
  write_token(tokens, 'a', "first", 100);
  write_token(tokens, 'b', "second", 200);
  REQUIRE(tokens.find(hash_of('b')) != nullptr);
  CHECK(tokens.find(hash_of('b'))->name == "second");
  CHECK(tokens.find_by_id("616161616161")->name == "first");
  CHECK(tokens.find(hash_of('c')) == nullptr);
  CHECK(tokens.find(hash_of('a').substr(1)) == nullptr);
  CHECK(tokens.find_by_id("61616161616") == nullptr);
  CHECK(tokens.find_by_id("") == nullptr);
}

TEST_CASE("tokens: the log is needed from the oldest one on, which compaction writes again") {
  Tokens tokens;
  CHECK(tokens.oldest_place() == std::nullopt);
  write_token(tokens, 'a', "first", 100);
  write_token(tokens, 'b', "second", 200);
  CHECK(tokens.oldest_place() == 100);
  std::string batch;
  tokens.rewrite_oldest(batch);
  CHECK(tokens.oldest_place() == 200);
  std::string_view bytes = batch;
  const auto record = decode(bytes);
  REQUIRE(record);
  CHECK(std::get<TokenAdded>(record.value()) == token_of('a', "first"));
}

TEST_CASE("tokens: live bytes are those of all records, and of removed ones none") {
  Tokens tokens;
  write_token(tokens, 'a', "first", 100);
  write_token(tokens, 'a', "first", 200);
  write_token(tokens, 'b', "second", 300);
  CHECK(tokens.live_bytes() ==
        encoded_bytes(token_of('a', "first")) + encoded_bytes(token_of('b', "second")));
  for (const char which : {'a', 'b', 'b', 'c'}) {
    const std::string hash = hash_of(which);
    tokens.apply(TokenRemoved{hash});
  }
  CHECK(tokens.live_bytes() == 0);
  CHECK(tokens.count() == 0);
  CHECK(tokens.oldest_place() == std::nullopt);
}

}  // namespace millrace
