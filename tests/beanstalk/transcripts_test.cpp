#include <algorithm>

#include "beanstalk/command.hpp"
#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

namespace millrace::test {

TEST_CASE("beanstalk transcripts") {
  run_transcripts("beanstalk", Protocol::kBeanstalk);
}

TEST_CASE("beanstalk transcripts: every verb is in one") {
  const std::vector<Transcript> transcripts = read_transcripts("beanstalk");
  for (std::string_view verb : beanstalk::verbs()) {
    INFO(verb);
    CHECK(std::any_of(transcripts.begin(), transcripts.end(), [verb](const Transcript& each) {
      return is_understood(each, verb, {"BAD_FORMAT", "UNKNOWN_COMMAND"});
    }));
  }
}

}  // namespace millrace::test
