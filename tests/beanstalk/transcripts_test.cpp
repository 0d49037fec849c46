#include <algorithm>

#include "beanstalk/command.hpp"
#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

namespace millrace::test {
namespace {

/// Whether a line begins with the verb and the server did not call it unknown or malformed.
bool succeeds(const Transcript& transcript, std::string_view verb) {
  const auto& steps = transcript.steps;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    bool is_asked = steps[i].kind == Step::Kind::kSend && steps[i].text.starts_with(verb);
    std::string_view answer = steps[i + 1].expected.text;
    if (is_asked && answer != "BAD_FORMAT" && answer != "UNKNOWN_COMMAND") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("beanstalk transcripts") {
  run_transcripts("beanstalk", Protocol::kBeanstalk);
}

TEST_CASE("beanstalk transcripts: every verb stands in one") {
  std::vector<Transcript> transcripts = read_transcripts("beanstalk");
  for (std::string_view verb : beanstalk::verbs()) {
    INFO(verb);
    CHECK(std::any_of(transcripts.begin(), transcripts.end(),
                      [verb](const Transcript& each) { return succeeds(each, verb); }));
  }
}

}  // namespace millrace::test
