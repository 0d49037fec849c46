#include "faktory/job/mutate_filter.hpp"

#include <cstring>
#include <string>

#include "faktory/job/stored_form.hpp"
#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// Jobs that were put, and a filter that is asked about them with few steps at a time.
class Filtering {
 public:
  explicit Filtering(const MutateFilter& filter) : matcher_(make_matcher(filter, format_, {})) {}

  Match ask(const Job& job, std::size_t count = kSliceSteps) {
    Steps steps(count);
    return matcher_(job, queue_, steps);
  }

  static Job job(JobId id, std::string_view body) {
    Job job;
    job.id = id;
    job.body.reset(new char[body.size()]);
    std::memcpy(job.body.get(), body.data(), body.size());
    job.body_bytes = static_cast<std::uint32_t>(body.size());
    return job;
  }

 private:
  WorkUnits format_;
  Queue queue_;
  std::function<Match(const Job&, const Queue&, Steps&)> matcher_;
};

std::string unit(const std::string& jobtype, const std::string& argument) {
  return R"({"jobtype":")" + jobtype + R"(","args":[")" + argument + R"("]})";
}

}  // namespace

TEST_CASE("filter: a long job is compared in as many calls as it takes") {
  Filtering filtering({.jids = {}, .regexp = "*" + std::string(1000, 'a') + "b*", .jobtype = {}});
  const Job job = Filtering::job(1, unit("T", std::string(100'000, 'a')));
  CHECK(filtering.ask(job) == Match::kUnfinished);
  int calls = 1;
  while (filtering.ask(job) == Match::kUnfinished) ++calls;
  CHECK(calls == 100'000 * 17 / kSliceSteps);
}

TEST_CASE("filter: regexp and jobtype are both asked, in pieces too") {
  Filtering filtering({.jids = {}, .regexp = "*needle*", .jobtype = "T"});
  const Job job = Filtering::job(1, unit("T", "hay needle hay"));
  Match match = filtering.ask(job, 3);
  CHECK(match == Match::kUnfinished);
  while (match == Match::kUnfinished) match = filtering.ask(job, 3);
  CHECK(match == Match::kYes);
  CHECK(filtering.ask(Filtering::job(2, unit("U", "needle"))) == Match::kNo);
  CHECK(filtering.ask(Filtering::job(3, unit("T", "hay"))) == Match::kNo);
}

TEST_CASE("filter: another job begins anew, though the last one was not finished") {
  Filtering filtering({.jids = {}, .regexp = "*needle*", .jobtype = {}});
  CHECK(filtering.ask(Filtering::job(1, unit("T", "needle")), 1) == Match::kUnfinished);
  CHECK(filtering.ask(Filtering::job(2, unit("T", "hay"))) == Match::kNo);
}

TEST_CASE("filter: with a regexp the jobtype is a text, without one a glob") {
  const Job job = Filtering::job(1, unit("F[o]o*", "x"));
  CHECK(Filtering({.jids = {}, .regexp = "*", .jobtype = "F[o]o*"}).ask(job) == Match::kYes);
  CHECK(Filtering({.jids = {}, .regexp = "*", .jobtype = "F*"}).ask(job) == Match::kNo);
  CHECK(Filtering({.jids = {}, .regexp = {}, .jobtype = "F*"}).ask(job) == Match::kYes);
  CHECK(Filtering({.jids = {}, .regexp = {}, .jobtype = "F[o]o*"}).ask(job) == Match::kNo);
}

TEST_CASE("filter: a job of megabytes is never rendered in one call") {
  const std::string hay(10 * WorkUnitFormat::kLongBodyBytes, 'a');
  for (const std::string& end : {std::string("b"), std::string("\xFF")}) {
    for (const bool is_match : {true, false}) {
      const std::string needle = end == "b" ? "ab\"" : "\"encoding\":\"base64\"";
      Filtering filtering({.jids = {}, .regexp = is_match ? "*" + needle + "*" : "*zz*"});
      const Job job = Filtering::job(1, hay + end);
      int calls = 1;
      Match match = filtering.ask(job, 10'000);
      for (; match == Match::kUnfinished; ++calls) match = filtering.ask(job, 10'000);
      CHECK(match == (is_match ? Match::kYes : Match::kNo));
      CHECK(calls > 10);
    }
  }
}

TEST_CASE("filter: a long pushed job goes on where it was, though its body moved") {
  JobReader reader;
  std::string body;
  const std::string hay(10 * WorkUnitFormat::kLongBodyBytes, 'a');
  const auto members = reader.read(R"({"jid":"12345678","jobtype":"T","args":[")" + hay + R"("]})");
  REQUIRE(members);
  encode_work_unit(*members, body);
  for (const bool is_match : {true, false}) {
    Filtering filtering({.jids = {}, .regexp = is_match ? "*aa\"]}" : "*ba\"]}", .jobtype = "T"});
    int calls = 0;
    for (Match match = Match::kUnfinished; match == Match::kUnfinished; ++calls) {
      Job job = Filtering::job(1, body);
      job.kind = JobKind::kWorkUnit;
      match = filtering.ask(job, 10'000);
      if (match != Match::kUnfinished) CHECK(match == (is_match ? Match::kYes : Match::kNo));
    }
    CHECK(calls > 10);
  }
}

}  // namespace millrace::faktory
