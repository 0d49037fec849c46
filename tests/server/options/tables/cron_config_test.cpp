#include "server/options/tables/cron_config.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "server/options/config_file.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

/// Reads these texts as the files a.toml, b.toml, ...
class CronFiles {
 public:
  explicit CronFiles(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string name = std::string(1, static_cast<char>('a' + paths_.size())) + ".toml";
      paths_.push_back(scratch_.write(name, text));
    }
  }

  [[nodiscard]] std::vector<CronItem> items() const {
    auto table = read();
    REQUIRE_MESSAGE(table, table.error().text);
    return std::move(table->items);
  }

  /// Without the directory.
  [[nodiscard]] std::string problem() const {
    const auto table = read();
    REQUIRE_FALSE(table);
    std::string text = table.error().text;
    const std::string folder = scratch_.path("");
    for (std::size_t at = text.find(folder); at != text.npos; at = text.find(folder)) {
      text.erase(at, folder.size());
    }
    return text;
  }

 private:
  [[nodiscard]] Outcome<CronTable> read() const {
    const auto documents = read_each(paths_);
    if (!documents) return documents.error();
    return read_cron(*documents);
  }

  Scratch scratch_;
  std::vector<std::string> paths_;
};

const std::string kEntry = "[[cron]]\nschedule = \"*/5 * * * *\"\n[cron.job]\ntype = \"Tick\"\n";

CronItem only_item(const std::string& text) {
  const auto items = CronFiles({text}).items();
  REQUIRE(items.size() == 1);
  return items.front();
}

std::string problem_of(const std::string& text) {
  return CronFiles({text}).problem();
}

/// Of an entry with these lines before and after its [cron.job].
std::string entry(const std::string& members, const std::string& job) {
  return "[[cron]]\n" + members + "\n[cron.job]\n" + job + "\n";
}

const std::string kDaily = "schedule = \"@daily\"";

}  // namespace

TEST_CASE("cron config: an entry needs a schedule and a type only") {
  const CronItem item = only_item(kEntry);
  CHECK(item.schedule_text == "*/5 * * * *");
  CHECK(item.job == R"({"jobtype":"Tick","queue":"default","args":[]})");
  CHECK(item.id.size() == 16);
  CHECK(item.catch_up == CatchUp::kOne);
  CHECK(item.is_enabled);
  CHECK(item.place.ends_with("a.toml:1"));
}

TEST_CASE("cron config: all members") {
  const CronItem item = only_item(
      "[[cron]]\nschedule = \"30 2 * * *\"\nname = \"nightly\"\ntimezone = \"Europe/Berlin\"\n"
      "catch_up = \"all\"\nenabled = false\n[cron.job]\ntype = \"Report\"\nqueue = \"low\"\n"
      "args = [1, \"two\", { three = 3.0 }]\nretry = 0\nreserve_for = 300\npriority = 9\n"
      "backtrace = 5\n[cron.job.custom]\nunique_for = 600\ntrack = 1\n");
  CHECK(item.id == "nightly");
  CHECK(item.is_named);
  CHECK(item.time_zone == "Europe/Berlin");
  CHECK(item.schedule.zone().name() == "Europe/Berlin");
  CHECK(item.retry == 0);
  CHECK(item.reserve_for == 300);
  CHECK(item.catch_up == CatchUp::kAll);
  CHECK_FALSE(item.is_enabled);
  CHECK(item.jobtype == "Report");
  CHECK(item.queue == "low");
  CHECK(item.args == R"([1,"two",{"three":3.0}])");
  CHECK(item.custom == R"({"track":1,"unique_for":600})");
  CHECK(item.job == R"({"jobtype":"Report","queue":"low","args":[1,"two",{"three":3.0}],)"
                    R"("retry":0,"reserve_for":300,"priority":9,"backtrace":5,)"
                    R"("custom":{"track":1,"unique_for":600}})");
}

TEST_CASE("cron config: all else in the files is passed over") {
  CHECK(CronFiles({"web = \"off\"\n[faktory]\nbinding = \":1\"\n", kEntry}).items().size() == 1);
  CHECK(CronFiles({""}).items().empty());
}

TEST_CASE("cron config: the entries of all files") {
  const auto items =
      CronFiles({kEntry + entry(kDaily, "type = \"A\""), entry(kDaily, "type = \"B\"")}).items();
  REQUIRE(items.size() == 3);
  CHECK(items[2].jobtype == "B");
}

TEST_CASE("cron config: a table whose name begins with no letter is refused") {
  for (const char* text : {"[=]", "[[%]]", "[\x01", "[{", "[+]"}) {
    CAPTURE(text);
    CHECK(CronFiles({text}).problem().starts_with("a.toml:1: "));
  }
}

TEST_CASE("cron config: equal entries are refused, unless they have names") {
  CHECK(CronFiles({kEntry, "\n" + kEntry}).problem() ==
        "b.toml:2: the same entry is at a.toml:1; if both are meant, one of them needs a name");
  const std::string named = entry("name = \"x\"\n" + kDaily, "type = \"A\"");
  CHECK(CronFiles({entry(kDaily, "type = \"A\""), named}).items().size() == 2);
  CHECK(CronFiles({named, named}).problem() ==
        "b.toml:1: the entry at a.toml:1 has the name \"x\" too");
}

TEST_CASE("cron config: an id without a name stays when only other members change") {
  const CronItem before = only_item(entry(kDaily, "type = \"A\""));
  const CronItem disabled = only_item(entry(kDaily + "\nenabled = false", "type = \"A\""));
  CHECK(before.id == disabled.id);
  CHECK(before.content != disabled.content);
  CHECK(before.id != only_item(entry(kDaily, "type = \"B\"")).id);
  CHECK(before.id != only_item(entry("schedule = \"@hourly\"", "type = \"A\"")).id);
}

TEST_CASE("cron config: a problem names file and line") {
  CHECK(problem_of("\n\n[[cron]\n").starts_with("a.toml:3: "));
  CHECK(problem_of("\n" + entry("schedule = \"60 * * * *\"", "type = \"A\"")) ==
        "a.toml:3: schedule \"60 * * * *\": minute: \"60\" is not a number from 0 to 59");
  CHECK(problem_of(entry("schedule = \"@daily\"\ntimezone = \"Mars\"", "type = \"A\"")) ==
        "a.toml:3: timezone: the system knows no time zone \"Mars\"");
  CHECK(problem_of(entry("schedule = \"TZ=Mars @daily\"", "type = \"A\"")) ==
        "a.toml:2: schedule \"TZ=Mars @daily\": the system knows no time zone \"Mars\"");
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nargs = [\n1,\n2027-01-01]")) ==
        "a.toml:7: args: JSON has no dates and times without quotes");
}

TEST_CASE("cron config: what is missing, or of another type") {
  CHECK(problem_of(entry("", "type = \"A\"")) == "a.toml:1: schedule is missing");
  CHECK(problem_of("[[cron]]\n" + kDaily) == "a.toml:1: [cron.job] is missing");
  CHECK(problem_of(entry(kDaily, "")) == "a.toml:3: type is missing in [cron.job]");
  CHECK(problem_of(entry(kDaily, "type = 5")) == "a.toml:4: type must be a string in quotes");
  CHECK(problem_of(entry("schedule = \"\"", "type = \"A\"")) == "a.toml:2: schedule is empty");
  CHECK(problem_of(entry(kDaily + "\nenabled = 1", "type = \"A\"")) ==
        "a.toml:3: enabled must be true or false");
  CHECK(problem_of(entry(kDaily + "\ncatch_up = \"some\"", "type = \"A\"")) ==
        "a.toml:3: catch_up must be \"one\", \"none\" or \"all\"");
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nargs = 5")) == "a.toml:5: args must be a list");
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nretry = \"5\"")) ==
        "a.toml:5: retry must be a whole number");
  CHECK(problem_of("[cron]\n" + kDaily) ==
        "a.toml:1: an entry begins with [[cron]], in double brackets");
  CHECK(problem_of("cron = [1]") == "a.toml:1: cron must be written as [[cron]]");
}

TEST_CASE("cron config: jitter, which makes no other entry") {
  const auto with = [](const std::string& jitter) {
    return only_item(entry(kDaily + jitter, "type = \"A\""));
  };
  CHECK(with("").jitter == Duration{});
  CHECK(with("\njitter = 3600").jitter == 1h);
  CHECK(with("\njitter = \"1m30s\"").jitter == 90s);
  CHECK(with("\njitter = \"1h\"").jitter == 1h);
  CHECK(with("\njitter = 5").id == with("").id);
  CHECK(with("\njitter = 5").content == with("").content);
  for (const char* wrong : {"-1", "3601", "1.5", "\"61m\"", "\"1.5s\"", "\"-1s\""}) {
    CHECK(problem_of(entry(kDaily + "\njitter = " + wrong, "type = \"A\"")) ==
          "a.toml:3: jitter must be a whole number of seconds from 0 to 3600, such as 90 or "
          "\"1m30s\"");
  }
}

TEST_CASE("cron config: unknown keys are refused") {
  CHECK(problem_of(entry(kDaily + "\nzone = \"UTC\"", "type = \"A\"")) ==
        "a.toml:3: unknown key 'zone' in cron");
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nat = \"2027-01-01T00:00:00Z\"")) ==
        "a.toml:5: unknown key 'at' in cron.job: the schedule says when a job is pushed");
}

TEST_CASE("cron config: jobs keep the rules of PUSH") {
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nqueue = \"a b\""))
            .starts_with("a.toml:5: cannot get \"a b\" queue"));
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nreserve_for = 86401")) ==
        "a.toml:5: jobs cannot be reserved for more than one day");
  const std::string custom = "type = \"A\"\n[cron.job.custom]\na = 1\n";
  CHECK(problem_of(entry(kDaily, custom + "unique_for = -1")) ==
        "a.toml:7: invalid unique_for: -1");
  CHECK(problem_of(entry(kDaily, custom + "expires_in = \"1m\"")) ==
        "a.toml:7: invalid expires_in: 1m");
}

TEST_CASE("cron config: whichever member PUSH refuses, its line is named") {
  const std::string job = "type = \"A\"\nargs = [\"" + std::string(130 * 1024, 'x') + "\"]\n";
  CHECK(problem_of(entry(kDaily, job + "custom = { unique_for = 1 }")) ==
        "a.toml:5: args of a unique job cannot be longer than 131072 bytes");
  const auto with = [](const std::string& member) {
    return problem_of(entry(kDaily, "type = \"A\"\n[cron.job.custom]\nunique_for = 1\n" + member));
  };
  CHECK(with("unique_until = \"x\"") == "a.toml:7: invalid unique_until: x");
  CHECK(with("unique_conflict = \"x\"") == "a.toml:7: invalid unique_conflict: x");
  CHECK(with("expires_at = \"x\"") == "a.toml:7: invalid timestamp for 'expires_at': \"x\"");
  CHECK(problem_of(entry(kDaily, "type = \"A\"\nqueue = \"" + std::string(1025, 'x') + '"')) ==
        "a.toml:5: queue names cannot be longer than 1024 bytes");
}

TEST_CASE("cron config: a job cannot belong to a batch") {
  CHECK(problem_of(entry(kDaily, "type = \"A\"\n\ncustom = { bid = \"b-AAAAAAAAAAAAAA\" }")) ==
        "a.toml:6: custom.bid: a cron job cannot belong to a batch");
}

TEST_CASE("cron config: the job has single brackets") {
  CHECK(problem_of("[[cron]]\n" + kDaily + "\n[[cron.job]]\ntype = \"A\"\n") ==
        "a.toml:3: write [cron.job], a table, in single brackets");
  CHECK(problem_of("[[cron]]\n" + kDaily + "\n") == "a.toml:1: [cron.job] is missing");
}

TEST_CASE("cron config: names have a limit") {
  const auto named = [](std::size_t bytes) {
    return entry("name = \"" + std::string(bytes, 'x') + "\"\n" + kDaily, "type = \"A\"");
  };
  CHECK(only_item(named(kCronNameBytesMax)).id.size() == kCronNameBytesMax);
  CHECK(problem_of(named(kCronNameBytesMax + 1)) ==
        "a.toml:2: name must be one line of at most 255 bytes");
  CHECK(problem_of(entry("name = \"a\\nb\"\n" + kDaily, "type = \"A\"")) ==
        "a.toml:2: name must be one line of at most 255 bytes");
}

TEST_CASE("cron config: a MiB of entries is read, and not more") {
  std::string text;
  for (int i = 0; text.size() < kConfigBytesMax - 200; ++i) {
    text += entry("schedule = \"* * * * *\"", "type = \"T" + std::to_string(i) + "\"");
  }
  text.resize(kConfigBytesMax, '\n');
  CHECK(CronFiles({text}).items().size() > 10'000);
  CHECK(CronFiles({text, "\n"}).problem() ==
        "cannot read config file b.toml: too long: the limit is 1 MiB for all config files "
        "together");
}

}  // namespace millrace::server
