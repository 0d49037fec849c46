
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "tools/command_line/command_line.hpp"

namespace millrace::tools {
namespace {

/// With everything that a shell or roff could take for its own.
const std::vector<ShownCommand> kHard = {
    {.name = "do",
     .help = R"(It's [all]: a\b)",
     .footer = ".not a request",
     .options = {{.flag = "--it", .value = "FILE", .help = "'x' [y]: z", .is_path = true}}}};

}  // namespace

TEST_CASE("completion: what a shell would read as its own is quoted") {
  const std::string zsh = completion_for("zsh", kHard).value();
  CHECK(zsh.find(R"('do:It'\''s [all]\: a\b')") != std::string::npos);
  CHECK(zsh.find(R"('--it=[)"
                 R"('\''x'\'' \[y\]\: z]:FILE:_files')") != std::string::npos);
  const std::string fish = completion_for("fish", kHard).value();
  CHECK(fish.find(R"(-a do -d 'It\'s [all]: a\\b')") != std::string::npos);
  CHECK(fish.find(R"(-l it -r -F -d '\'x\' [y]: z')") != std::string::npos);
}

TEST_CASE("completion: an argument that may be repeated is so for shells, too") {
  std::vector<ShownCommand> commands = {
      {.name = "do",
       .help = "Do it",
       .options = {{.flag = "ID", .help = "Some", .is_positional = true, .is_repeated = true}}}};
  CHECK(completion_for("zsh", commands).value().find("'*:ID: '") != std::string::npos);
  CHECK(man_page(commands).find("\\fIID\\fR... [") != std::string::npos);
  commands.back().options.front().is_optional = true;
  CHECK(man_page(commands).find("[\\fIID\\fR...] [") != std::string::npos);
}

TEST_CASE("completion: words of a list are completed one by one") {
  const std::vector<std::string_view> words = {"a", "b"};
  const std::vector<ShownCommand> commands = {
      {.name = "do",
       .help = "Do it",
       .options = {{.flag = "--it",
                    .value = "X",
                    .help = "It",
                    .hint = {.words = words, .is_list = true}}}}};
  CHECK(completion_for("bash", commands).value().find("--it) _millrace_words , a b;") !=
        std::string::npos);
  CHECK(completion_for("zsh", commands).value().find(":X:_values -s , X a b'") !=
        std::string::npos);
  CHECK(completion_for("fish", commands).value().find("-x -a '(__millrace_list a b)'") !=
        std::string::npos);
}

TEST_CASE("completion: another shell is refused") {
  CHECK_FALSE(completion_for("tcsh", kHard));
  CHECK_FALSE(completion_for("", kHard));
}

TEST_CASE("man page: a text is never a request") {
  const std::string page = man_page(kHard);
  CHECK(page.find("\n\\&It's [all]: a\\eb.\n") != std::string::npos);
  CHECK(page.find("\n\\&'x' [y]: z\n") != std::string::npos);
  CHECK(page.find("\n\\&.not a request\n") != std::string::npos);
  CHECK(page.find("\n\\fB\\-\\-it\\fR \\fIFILE\\fR\n") != std::string::npos);
}

}  // namespace millrace::tools
