#include "cli/options/command_line.hpp"

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/options/verb_rows.hpp"
#include "support/doctest.hpp"

namespace millrace::cli {
namespace {

Outcome<Choice> read(std::vector<std::string> arguments) {
  CLI::App app{"", "millrace"};
  const CommandLine line(app);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  REQUIRE(line.is_given());
  return line.choice();
}

std::string problem_of(std::vector<std::string> arguments) {
  return read(std::move(arguments)).error().text;
}

}  // namespace

TEST_CASE("verbs: each has a name of its own, and finds its row") {
  std::set<std::string> names;
  for (const VerbRow& verb : verb_rows()) names.insert(verb.name);
  CHECK(names.size() == verb_rows().size());
  CHECK(read({"stats"}).value().verb->name == std::string("stats"));
}

TEST_CASE("verbs: no verb has two options of one name") {
  for (const VerbRow& verb : verb_rows()) {
    std::set<std::string> names;
    for (const VerbOption& option : verb_options()) {
      if ((option.groups & verb.groups) == 0) continue;
      CAPTURE(option.name);
      CHECK(names.insert(option.name).second);
    }
  }
}

TEST_CASE("words: an argument of JSON is one word, whatever is in it") {
  const Choice choice = read({"push", "Mail", R"([1,"a b",[2]])"}).value();
  CHECK(choice.words == std::vector<std::string>{"Mail", R"([1,"a b",[2]])"});
  CHECK(read({"push", "Mail"}).value().words.size() == 1);
}

TEST_CASE("words: several IDs keep their order") {
  const Choice choice = read({"delete", "3", "abc", "1"}).value();
  CHECK(choice.words == std::vector<std::string>{"3", "abc", "1"});
  CHECK(read({"delete", "--state", "dead"}).value().words.empty());
}

TEST_CASE("filters: they have the names of the API") {
  const Choice choice = read({"kill", "--state=dead,retrying,dead", "--type=Mail*",
                              "--older-than=1h", "--client=5", "--arg=a:1 b:\"\""})
                            .value();
  CHECK(choice.states == std::vector<std::string>{"dead", "retrying"});
  REQUIRE(choice.filters.size() == 4);
  CHECK(choice.filters[0].name == "type");
  CHECK(choice.filters[0].text == "Mail*");
  CHECK(choice.filters[1].name == "older_than_s");
  CHECK(choice.filters[1].text == "3600");
  CHECK(choice.filters[1].is_number);
  CHECK(choice.filters[2].name == "arg");
  CHECK(choice.filters[2].text == "a:1 b:\"\"");
  CHECK(choice.filters[3].name == "client");
}

TEST_CASE("options: a wrong value is named with its flag") {
  CHECK(problem_of({"ls", "dead", "--older-than=soon"}).starts_with("--older-than must be"));
  CHECK(problem_of({"kill", "--state=deadly"}).starts_with("--state must be"));
  CHECK(problem_of({"kill", "--state=dead,"}).starts_with("--state must be"));
  CHECK(problem_of({"ls", "dead", "--limit=0"}).starts_with("--limit must be"));
  CHECK(problem_of({"ls", "dead", "--queue", ""}).starts_with("--queue must not"));
  CHECK(problem_of({"push", "A", "--retry=-2"}).starts_with("--retry must be"));
  CHECK(problem_of({"stats", "--json=perhaps"}).starts_with("--json must be"));
}

TEST_CASE("options: a rate is a number and a time") {
  const Choice choice = read({"throttles", "set", "mail", "--rate=100/2m"}).value();
  CHECK(choice.throttle.rate_count == 100);
  CHECK(choice.throttle.rate_s == 120);
  for (const char* wrong : {"--rate=100", "--rate=/1m", "--rate=0/1m", "--rate=1000001/1m"}) {
    CHECK(problem_of({"throttles", "set", "mail", wrong}).starts_with("--rate must be"));
  }
}

TEST_CASE("options: a wrong duration is shown as it was written, with what is accepted") {
  for (const char* const wrong : {"1.5s", "0", "500ms", "x"}) {
    CHECK(problem_of({"push", "Mail", std::string("--reserve-for=") + wrong}) ==
          std::string("--reserve-for must be a duration in whole seconds, such as 90, 30m, 2h or "
                      "7d, and not '") +
              wrong + "'");
  }
  CHECK(problem_of({"throttles", "set", "q", "--rate=9/1500ms"}).ends_with("and not '9/1500ms'"));
}

TEST_CASE("options: --state of batches has their states") {
  CHECK(read({"batches", "--state=failed"}).value().batch_state == "failed");
  CHECK(problem_of({"batches", "--state=dead"}).starts_with("--state must be"));
}

TEST_CASE("options: --state of a move is none of a job that runs") {
  CHECK(problem_of({"move", "1", "--to=a", "--state=reserved"}) ==
        "--state must be scheduled, ready, retrying or dead");
  CHECK(read({"kill", "1", "--state=reserved"}).value().states.front() == "reserved");
  for (const VerbOption& option : verb_options()) {
    const bool is_of_move = option.name == std::string("state") && (option.groups & kMoveTo) != 0;
    if (is_of_move) CHECK(std::string(option.help).find("reserved") == std::string::npos);
  }
}

TEST_CASE("options: the states that are offered are those that are taken") {
  CHECK(problem_of({"delete", "--state=all"}) ==
        "--state must be scheduled, ready, retrying or dead");
  CHECK(problem_of({"delete", "1", "--state=all"}) ==
        "--state must be scheduled, ready, reserved, retrying or dead");
}

TEST_CASE("options: what is sent to the server is UTF-8") {
  CHECK(problem_of({"push", "\xff"}).find("UTF-8") != std::string::npos);
  CHECK(problem_of({"delete", "1", "\xff"}).find("UTF-8") != std::string::npos);
  CHECK(problem_of({"ls", "dead", "--type=\xff"}) == "--type is not UTF-8");
}

TEST_CASE("options: the password of a wrong URL is not repeated") {
  CHECK(problem_of({"stats", "--url=http://me:secret@/"}).find("secret") == std::string::npos);
}

}  // namespace millrace::cli
