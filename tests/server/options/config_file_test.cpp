#include "server/options/config_file.hpp"

#include <sys/stat.h>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

using Kind = Setting::Kind;

/// Files of the test, by the names a, b, ... in their order.
class Files {
 public:
  explicit Files(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string name(1, static_cast<char>('a' + paths_.size()));
      paths_.push_back(scratch_.write(name, text));
    }
  }

  [[nodiscard]] std::vector<Setting> settings() const {
    const auto document = ConfigDocument::read(paths_);
    REQUIRE_MESSAGE(document, document.error().text);
    return document->settings();
  }

  /// Of the only setting.
  [[nodiscard]] std::string text() const {
    REQUIRE(settings().size() == 1);
    return settings().front().text;
  }

  /// Without the directory in front.
  [[nodiscard]] std::string problem() const {
    const auto document = ConfigDocument::read(paths_);
    REQUIRE_FALSE(document);
    const std::string& text = document.error().text;
    return text.substr(text.find(scratch_.path("")) + scratch_.path("").size());
  }

  [[nodiscard]] std::string place_of(const Setting& setting) const {
    return setting.place.substr(scratch_.path("").size());
  }

 private:
  Scratch scratch_;
  std::vector<std::string> paths_;
};

TEST_CASE("config file: a key knows its tables, its value and its line") {
  const Files files({"# first\ntop = \"x\"\n[ table ] # comment\nkey = 'y'\n"});
  const std::vector<Setting> settings = files.settings();
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].name() == "table.key");
  CHECK(settings[0].kind == Kind::kString);
  CHECK(settings[0].text == "y");
  CHECK(files.place_of(settings[0]) == "a:4");
  CHECK(settings[1].path == std::vector<std::string>{"top"});
  CHECK(files.place_of(settings[1]) == "a:2");
}

TEST_CASE("config file: inline tables and dotted keys are tables") {
  CHECK(Files({"a = { b = 'x' }\n"}).settings().front().name() == "a.b");
  CHECK(Files({"a.b = 'x'\n"}).settings().front().path.size() == 2);
  CHECK(Files({"'a.b' = 'x'\n"}).settings().front().path.size() == 1);
}

TEST_CASE("config file: texts as TOML writes them") {
  CHECK(Files({R"(k = "a#b" # c)"}).text() == "a#b");
  CHECK(Files({R"(k = "a\"b")"}).text() == "a\"b");
  CHECK(Files({R"(k = "\u00e9\t")"}).text() == "\xC3\xA9\t");
  CHECK(Files({R"(k = 'C:\dir')"}).text() == "C:\\dir");
  CHECK(Files({"k = \"\"\"\na\nb\"\"\""}).text() == "a\nb");
}

TEST_CASE("config file: numbers and switches as a flag would have them") {
  CHECK(Files({"k = 1_000"}).text() == "1000");
  CHECK(Files({"k = true"}).text() == "true");
  CHECK(Files({"k = 5"}).settings().front().kind == Kind::kNumber);
}

TEST_CASE("config file: what no option takes is there, without a text") {
  CHECK(Files({"k = [1]"}).settings().front().kind == Kind::kOther);
  CHECK(Files({"k = 1.5"}).settings().front().kind == Kind::kOther);
  CHECK(Files({"[k]"}).settings().front().kind == Kind::kEmptyTable);
}

TEST_CASE("config file: a byte order mark and CR LF are nothing special") {
  CHECK(Files({"\xEF\xBB\xBFk = 'x'\r\n"}).text() == "x");
}

TEST_CASE("config file: what is no TOML is told with its line") {
  CHECK(Files({"a = 1\nb = \n"}).problem().starts_with("a:2: "));
  CHECK(Files({"a = 1\na = 2\n"}).problem().starts_with("a:2: "));
  CHECK(Files({"k = unquoted\n"}).problem().starts_with("a:1: "));
  CHECK(Files({"k = \"\\q\"\n"}).problem().starts_with("a:1: "));
  CHECK(Files({"[t\nk = 1\n"}).problem().starts_with("a:1: "));
  CHECK(Files({"k = '\xFF'\n"}).problem().starts_with("a:1: "));
  CHECK(Files({"\xC3\xA9 = 1\n"}).problem().starts_with("a:1: "));
  CHECK(Files({std::string("k = 'a\0'", 8)}).problem().starts_with("a:1: "));
}

TEST_CASE("config file: several files are one document") {
  const Files files({"[t]\na = 'x'", "b = 'y'\n[u]\nc = 'z'\n"});
  const std::vector<Setting> settings = files.settings();
  REQUIRE(settings.size() == 3);
  CHECK(settings[1].name() == "t.b");
  CHECK(files.place_of(settings[1]) == "b:1");
  CHECK(files.place_of(settings[2]) == "b:3");
}

TEST_CASE(
    "config file: a table in two files is refused where it comes again, a list of tables is not") {
  CHECK(Files({"[t]\na = 1\n", "\n[t]\nb = 2\n"}).problem().starts_with("b:2: "));
  CHECK(Files({"[[t]]\na = 1\n", "\n[[t]]\nb = 2\n"}).settings().size() == 1);
}

TEST_CASE("config file: deep nesting is refused") {
  CHECK(Files({"k = " + std::string(100'000, '[')}).problem().starts_with("a:1: "));
}

/// `a.a.a`, of so many parts.
std::string parts(std::size_t count) {
  std::string text = "a";
  for (std::size_t i = 1; i < count; ++i) text += ".a";
  return text;
}

TEST_CASE("config file: names have a limit of parts, with all that is around them") {
  constexpr std::size_t kMax = kTomlDepthMax;
  const std::string refusal = "nested deeper than 256 levels";
  CHECK(Files({parts(kMax) + " = 1\n"}).settings().front().path.size() == kMax);
  CHECK(Files({"\n" + parts(kMax + 1) + " = 1\n"}).problem() == "a:2: " + refusal);
  CHECK(Files({"[" + parts(kMax) + "]\n # a\n"}).settings().front().path.size() == kMax);
  CHECK(Files({"[" + parts(kMax) + "]\na = 1\n"}).problem() == "a:2: " + refusal);
  CHECK(Files({"[" + parts(kMax + 1) + "]\n"}).problem() == "a:1: " + refusal);
  CHECK(Files({"[[" + parts(kMax + 1) + "]]\n"}).problem() == "a:1: " + refusal);
  CHECK(
      Files({"[[" + parts(100) + "]]\n[" + parts(100) + ".b]\n" + parts(200) + " = 1"}).problem() ==
      "a:3: " + refusal);
  CHECK(Files({parts(200) + " = {" + parts(30) + " = {" + parts(30) + " = 1}}"}).problem() ==
        "a:1: " + refusal);
  CHECK(Files({"x = 1", parts(500'000) + " = 1\n"}).problem() == "b:1: " + refusal);
}

TEST_CASE("config file: lines, lists, strings and comments do not add up to a deep name") {
  std::string text = "[" + parts(100) + "]\n";
  for (int i = 0; i < 300; ++i) {
    const std::string key = "k" + std::to_string(i);
    text += key + ".b.c = [ { a.b = 1.5, c.d = \"[[{{\" }, '{[', [ 1.5, 2.5 ] ] # a.b.[{\n";
    text += key + ".d = \"\"\"\n\"[{.\\\"\"\"\"\"\n" + key + ".'e.f' = '''[{.''''\n";
  }
  CHECK(Files({text + "[b]\nc.d = 1"}).settings().size() == 901);
}

TEST_CASE("config file: deep names in a file of the largest size are read at once") {
  std::string text;
  for (int i = 0; text.size() < kConfigBytesMax - 600; ++i) {
    text += "k" + std::to_string(i) + "." + parts(kTomlDepthMax - 1) + " = 1\n";
  }
  CHECK(Files({text}).settings().back().path.size() == kTomlDepthMax);
}

TEST_CASE("config file: has a limit for all files together") {
  const std::string half = "#" + std::string(kConfigBytesMax / 2 - 2, 'x');
  CHECK(ConfigDocument::read({}).value().settings().empty());
  CHECK(Files({half, half}).settings().empty());
  CHECK(Files({half, half + "xxx"}).problem().starts_with("b: too long: the limit is 1 MiB"));
}

TEST_CASE("config file: each as a document of its own, with one limit for all of them") {
  const Scratch scratch;
  const std::string comment = "#" + std::string(kConfigBytesMax / 2 - 40, 'x') + "\n";
  const std::string a = scratch.write("a", "[t]\nk = 1\n" + comment);
  const std::string b = scratch.write("b", "k = 2\n" + comment);
  const auto read = read_each({a, b});
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK(read->front().settings().front().name() == "t.k");
  CHECK(read->back().settings().front().name() == "k");
  CHECK(read->back().settings().front().place == b + ":1");
  const std::string c = scratch.write("c", std::string(80, '#'));
  CHECK(read_each({a, b, c}).error().text.find("too long: the limit is 1 MiB") !=
        std::string::npos);
}

TEST_CASE("config file: what cannot be read is told") {
  const Scratch scratch;
  CHECK(ConfigDocument::read({"/nowhere"}).error().text ==
        "cannot read config file /nowhere: No such file or directory");
  CHECK(ConfigDocument::read({scratch.path("")}).error().text.ends_with("is a directory"));
}

TEST_CASE("config file: a pipe is refused at once, and /dev/null is empty") {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(ConfigDocument::read({pipe}).error().text ==
        "cannot read config file " + pipe + ": not a regular file");
  const std::string regular = scratch.write("a", "");
  CHECK(read_each({regular, pipe}, ConfigFile::kAny).error().text.ends_with("regular file"));
  CHECK(ConfigDocument::read({"/dev/null"}).value().settings().empty());
}

}  // namespace
}  // namespace millrace::server
