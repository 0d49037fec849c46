#include "server/options/tables/retry_options.hpp"

#include "faktory/job/pushed_job.hpp"
#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

Outcome<std::vector<RetryRule>> retries_in(const std::string& text) {
  return read_retries({&ConfigDocument::parse("a.toml", text).value(), 1});
}

std::string retry_problem(const std::string& members) {
  const auto rules = retries_in("\n[[retry]]\n" + members + "\n");
  REQUIRE_FALSE(rules);
  return rules.error().text;
}

/// What a job of that type and queue, with that `custom`, waits for by these rules.
struct Asked {
  faktory::WorkUnits format;
  FindRetryDelays find;

  explicit Asked(const std::string& config) {
    auto rules = retries_in(config);
    REQUIRE_MESSAGE(rules, rules.error().text);
    find = retry_delays(std::move(*rules), format);
  }

  [[nodiscard]] std::optional<RetryDelays> operator()(const std::string& type,
                                                      std::string_view queue,
                                                      const std::string& custom = "{}") const {
    faktory::JobReader reader;
    const auto members = reader.read(R"({"jid":"12345678","jobtype":")" + type +
                                     R"(","args":[],"custom":)" + custom + "}");
    REQUIRE(members);
    std::string body;
    REQUIRE(faktory::make_pushed_job(*members, Time{}, {}, faktory::no_secret, body));
    Job job;
    job.kind = JobKind::kWorkUnit;
    job.body = std::make_unique<char[]>(body.size());
    std::copy(body.begin(), body.end(), job.body.get());
    job.body_bytes = static_cast<std::uint32_t>(body.size());
    return find(job, queue);
  }
};

const std::string kTwo =
    "[[retry]]\ntype = \"Mail*\"\nqueue = \"fast\"\ndelays = [\"10s\", 60, \"10m\"]\n"
    "[[retry]]\nqueue = \"*\"\nfactor = 2\n";

}  // namespace

TEST_CASE("retry options: the first rule that matches counts") {
  const Asked asked(kTwo);
  const auto mail = asked("MailUser", "fast");
  REQUIRE(mail);
  CHECK(mail->seconds == std::vector<std::uint32_t>{10, 60, 600});
  CHECK(mail->from == "[[retry]] at a.toml:1");
  CHECK(asked("MailUser", "slow")->factor == 2);
  CHECK(asked("Report", "fast")->from == "[[retry]] at a.toml:5");
}

TEST_CASE("retry options: the class that a framework wraps has its rules, and the wrapper too") {
  const std::string wrapper = "ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper";
  const std::string custom = R"({"wrapped":"MailUserJob"})";
  CHECK(Asked(kTwo)(wrapper, "fast", custom)->seconds.size() == 3);
  const Asked asked("[[retry]]\ntype = \"ActiveJob::*\"\nfactor = 3");
  CHECK(asked(wrapper, "fast", custom)->factor == 3);
}

TEST_CASE("retry options: what the job itself asks for comes first") {
  const auto own = Asked(kTwo)("MailUser", "fast", R"({"retry_delays":["3s"]})");
  REQUIRE(own);
  CHECK(own->seconds == std::vector<std::uint32_t>{3});
  CHECK(own->from == "custom.retry_delays");
}

TEST_CASE("retry options: without a rule that matches it is the usual back-off") {
  CHECK_FALSE(Asked("")("Mail", "q"));
  CHECK_FALSE(Asked("[[retry]]\ntype = \"Mail\"\nfactor = 2")("MailUser", "q"));
}

TEST_CASE("retry options: a mistake is told with its file and line") {
  CHECK(retry_problem("factor = 2") == "a.toml:2: retry needs a type or a queue; \"*\" means all");
  CHECK(retry_problem("type = \"A\"") == "a.toml:2: retry needs delays, or factor, and not both");
  CHECK(retry_problem("type = \"A\"\nfactor = 2\ndelays = [1]").starts_with("a.toml:2: "));
  CHECK(retry_problem("type = \"A\"\ndelay = [1]").starts_with("a.toml:4: unknown key 'delay'"));
  CHECK(retry_problem("type = \"A\"\ndelays = []").starts_with("a.toml:4: retry: delays must"));
  CHECK(retry_problem("type = \"A\"\ndelays = [\n\"10s\",\n\"x\"]").starts_with("a.toml:6: "));
  CHECK(retry_problem("type = \"A\"\ndelays = [0]").starts_with("a.toml:4: "));
  CHECK(retry_problem("type = \"A\"\nfactor = 101").starts_with("a.toml:4: retry: factor"));
  CHECK(retry_problem("type = \"A\"\nfactor = nan").starts_with("a.toml:4: retry: factor"));
  CHECK(retry_problem("type = 5\nfactor = 2").starts_with("a.toml:3: retry: type must"));
  CHECK(retry_problem("queue = \"a[\"\nfactor = 2").starts_with("a.toml:3: retry: no ]"));
  CHECK(retries_in("[retry]\nfactor = 2").error().text.starts_with("a.toml:1: "));
}

}  // namespace millrace::server
