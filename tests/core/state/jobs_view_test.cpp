#include "core/state/jobs_view.hpp"

#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("job: its state is known by its number, as long as it is there") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("a", {.queue = "default", .ttr_s = 60});
  const View& view = fixture.broker.view();
  CHECK(view.jobs().state_of(id) == JobState::kReady);
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  CHECK(view.jobs().state_of(id) == std::nullopt);
}

TEST_CASE("jobs view: scheduled jobs are listed soonest first, whichever clock they follow") {
  BrokerFixture fixture;
  const JobId delayed = fixture.put("x", {.queue = "default", .due = fixture.now + 2h});
  const JobId timed = fixture.schedule("y", 3h);
  const View& view = fixture.broker.view();
  const auto listed = [&](const ScanOrder& order) {
    std::vector<JobId> ids;
    (void)view.jobs().scan(order, {}, 9, [&](const Job& job) {
      ids.push_back(job.id);
      return true;
    });
    return ids;
  };
  const Queue& queue = *view.queues().find("default");
  CHECK((listed({.state = JobState::kScheduled}) == std::vector<JobId>{delayed, timed}));
  CHECK(view.jobs().first_delayed(queue)->id == delayed);
  fixture.broker.set_wall_clock({.ahead = 2h});
  const std::vector<JobId> swapped{timed, delayed};
  CHECK(listed({.state = JobState::kScheduled}) == swapped);
  CHECK(listed({.state = JobState::kScheduled, .queue = "default"}) == swapped);
  CHECK((listed({.state = JobState::kScheduled, .is_backwards = true}) ==
         std::vector<JobId>{delayed, timed}));
  CHECK(view.jobs().first_delayed(queue)->id == timed);
  CHECK(view.jobs().scan_length({.state = JobState::kScheduled, .queue = "default"}) == 2);
}

TEST_CASE("jobs view: a walk over scheduled jobs goes on from its place") {
  BrokerFixture fixture;
  fixture.broker.set_wall_clock({.ahead = 1h});
  std::vector<JobId> wanted;
  for (int i = 1; i <= 3; ++i) {
    wanted.push_back(
        fixture.put("x", {.queue = "default", .due = fixture.now + std::chrono::hours(2 * i)}));
    wanted.push_back(fixture.schedule("y", std::chrono::hours(2 * i + 2)));
  }
  std::vector<JobId> seen;
  std::optional<ScanPlace> after;
  do {
    after = fixture.broker.view()
                .jobs()
                .scan({.state = JobState::kScheduled}, after, 1,
                      [&](const Job& job) {
                        seen.push_back(job.id);
                        return true;
                      })
                .next;
  } while (after);
  CHECK(seen == wanted);
}

TEST_CASE("jobs view: members of a batch are walked alone, in the order in which they were made") {
  BrokerFixture fixture;
  const auto member = [&](const std::string& queue, Pri pri) {
    return fixture.put("x", {.queue = queue, .pri = pri, .features = JobFeatures{.batch = 7}});
  };
  REQUIRE(fixture.broker.batches().add({.id = 7}, fixture.now));
  const JobId first = member("mail", 9);
  fixture.put("x", {.queue = "mail"});
  const JobId second = member("other", 1);
  const JobId third = member("mail", 1);
  const View& view = fixture.broker.view();
  const auto walked = [&](const ScanOrder& order, std::optional<ScanPlace> after = {}) {
    std::vector<JobId> ids;
    const ScanEnd end = view.jobs().scan(order, after, 9, [&](const Job& job) {
      ids.push_back(job.id);
      return true;
    });
    CHECK_FALSE(end.next);
    return ids;
  };
  using Ids = std::vector<JobId>;
  CHECK((walked({.batch = 7}) == Ids{first, second, third}));
  CHECK((walked({.batch = 7, .is_backwards = true}) == Ids{third, second, first}));
  CHECK((walked({.batch = 7}, ScanPlace{.minor = first}) == Ids{second, third}));
  CHECK((walked({.queue = "mail", .batch = 7}) == Ids{first, third}));
  CHECK((walked({.queues = "ot", .batch = 7}) == Ids{second}));
  CHECK(walked({.queue = "none", .batch = 7}).empty());
  CHECK(walked({.batch = 8}).empty());
  CHECK(view.jobs().scan_length({.batch = 7}) == 3);
  CHECK(fixture.broker.admin().change(second, Mutation::Action::kKill, fixture.now));
  CHECK((walked({.batch = 7}) == Ids{first, third}));
  CHECK((walked({.state = JobState::kDead, .batch = 7}) == Ids{second}));
}

TEST_CASE("jobs view: pages dead jobs oldest first, from a cursor on") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  std::vector<JobId> buried;
  for (int i = 0; i < 3; ++i) {
    const JobId id = fixture.put("x");
    CHECK(fixture.reserve(client) == id);
    CHECK(fixture.broker.connections().bury(client, id, 0, fixture.now));
    buried.push_back(id);
  }
  std::vector<JobId> seen;
  JobsView::Cursor last;
  const auto see = [&](const Job& job) {
    seen.push_back(job.id);
    last = {job.when, job.id};
  };
  fixture.broker.view().jobs().page(JobState::kDead, {}, 2, see);
  fixture.broker.view().jobs().page(JobState::kDead, last, 2, see);
  CHECK((seen == buried));
}

TEST_CASE("jobs view: pages ready jobs in the order of service") {
  BrokerFixture fixture;
  const JobId second = fixture.put("x", {.queue = "default", .pri = 2});
  const JobId first = fixture.put("x", {.queue = "default", .pri = 1});
  std::vector<JobId> seen;
  const View& view = fixture.broker.view();
  view.jobs().page_ready(*view.queues().find("default"), {}, 9,
                         [&](const Job& job) { seen.push_back(job.id); });
  CHECK((seen == std::vector<JobId>{first, second}));
}

TEST_CASE("jobs view: the oldest ready job is found among more urgent ones") {
  BrokerFixture fixture;
  fixture.put("old", {.queue = "default", .pri = 9, .ttr_s = 60});
  fixture.now += 5s;
  fixture.put("urgent", {.queue = "default", .pri = 1, .ttr_s = 60});
  const View& view = fixture.broker.view();
  CHECK(view.jobs().oldest_ready(*view.queues().find("default")) == kStart);
}

TEST_CASE("jobs view: failed jobs that were retried are known until they fail again or end") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const View& view = fixture.broker.view();
  const JobId id = fixture.push("retry=2");
  const auto group = [&] {
    const FailureGroups& failures = view.orders().failures();
    REQUIRE(failures.by_size().size() == 1);
    CHECK(failures.by_size().begin()->size == 1);
    return failures.by_size().begin()->group;
  };
  const auto is_seen = [&](JobState state) {
    const ScanOrder order{.state = state, .group = group()};
    std::vector<JobId> ids;
    const ScanEnd end = view.jobs().scan(order, {}, 10, [&](const Job& job) {
      ids.push_back(job.id);
      return true;
    });
    CHECK_FALSE(end.next);
    CHECK(view.jobs().scan_length(order) == ids.size());
    return ids == std::vector{id};
  };
  const auto fail = [&] {
    CHECK(fixture.fetch(client, "w") == id);
    const std::string jid = fixture.job(id).reservation()->jid;
    CHECK(fixture.broker.workers().fail(client, jid, {"E", "m", {}}, fixture.now));
  };
  fail();
  CHECK(is_seen(JobState::kRetrying));
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
  CHECK(is_seen(JobState::kReady));
  CHECK_FALSE(is_seen(JobState::kRetrying));
  fail();
  CHECK(is_seen(JobState::kRetrying));
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
  CHECK(fixture.reserve(client) == id);
  CHECK(is_seen(JobState::kReserved));
  CHECK(fixture.broker.connections().remove(client, id, fixture.now));
  CHECK(view.orders().failures().by_size().empty());
}

TEST_CASE("scan: the jobs of a group of failures are walked slice by slice, queue by queue") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const View& view = fixture.broker.view();
  for (const char* queue : {"a", "b", "a"}) {
    const JobId id = fixture.push("retry=2", queue);
    CHECK(fixture.fetch(client, "w", {queue}) == id);
    const std::string jid = fixture.job(id).reservation()->jid;
    CHECK(fixture.broker.workers().fail(client, jid, {"E", "m", {}}, fixture.now));
  }
  ScanOrder order{.state = JobState::kRetrying,
                  .group = view.orders().failures().by_size().begin()->group};
  std::size_t met = 0;
  const auto visit = [&](const Job&) { return ++met > 0; };
  const ScanEnd slice = view.jobs().scan(order, {}, 2, visit);
  CHECK(slice.jobs == 2);
  REQUIRE(slice.next);
  CHECK_FALSE(view.jobs().scan(order, slice.next, 2, visit).next);
  CHECK(met == 3);
  order.queue = "a";
  CHECK_FALSE(view.jobs().scan(order, {}, 9, visit).next);
  CHECK(met == 5);
}

TEST_CASE("scan: step by step, either way, through several queues meets each job once") {
  BrokerFixture fixture;
  bool is_backwards = false;
  SUBCASE("forwards") {}
  SUBCASE("backwards") {
    is_backwards = true;
  }
  fixture.push("a", "one");
  fixture.push("b", "two");
  fixture.push("c", "two");
  std::vector<JobId> met;
  std::optional<ScanPlace> after;
  ScanEnd end;
  do {
    end = fixture.broker.view().jobs().scan(
        {.state = JobState::kReady, .is_backwards = is_backwards}, after, 1, [&](const Job& job) {
          met.push_back(job.id);
          return true;
        });
    after = end.next;
  } while (end.next);
  CHECK(met.size() == 3);
}

}  // namespace millrace::test
