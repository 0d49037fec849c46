#include <algorithm>

#include "faktory/session/command.hpp"
#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

namespace millrace::test {

TEST_CASE("faktory transcripts") {
  run_transcripts("faktory", Protocol::kFaktory);
}

TEST_CASE("faktory transcripts: what is read ahead is answered alike") {
  run_transcripts("faktory", Protocol::kFaktory, true);
}

TEST_CASE("faktory transcripts: every verb is in one") {
  const std::vector<Transcript> transcripts = read_transcripts("faktory");
  for (std::string_view verb : faktory::verbs()) {
    INFO(verb);
    CHECK(std::any_of(transcripts.begin(), transcripts.end(), [verb](const Transcript& each) {
      return is_understood(each, verb, {"-ERR unknown command", "-ERR internal error"});
    }));
  }
}

}  // namespace millrace::test
