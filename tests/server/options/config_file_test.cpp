#include "server/options/config_file.hpp"

#include "server/scratch.hpp"
#include "support/doctest.hpp"

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
  CHECK(Files({"k = 5"}).settings().front().kind == Kind::kPlain);
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

}  // namespace
}  // namespace millrace::server
