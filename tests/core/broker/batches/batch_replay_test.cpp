#include <functional>
#include <map>

#include "core/broker/batches/batch_fixture.hpp"
#include "core/model/codec.hpp"
#include "core/model/record.hpp"

namespace millrace::test {
namespace {

/// Commands, one after the other. Each is a frame of the log.
using Step = std::function<void(BatchFixture&)>;
using Steps = std::vector<Step>;
using Frames = std::vector<std::string>;

/// Continues in `process`, which has done the steps before `from`. Answers the frames of the rest.
Frames play(BatchFixture& process, const Steps& steps, std::size_t from) {
  Frames frames;
  Lsn end = 1'000'000 * (from + 1);
  for (std::size_t i = from; i < steps.size(); ++i) {
    steps[i](process);
    process.settle();
    frames.push_back(process.ledger.take_batch());
    process.ledger.place(end);
    end += 100'000;
  }
  return frames;
}

/// All that is known of the batches, but for the numbers of callbacks' jobs.
std::string tell_batches(const BatchFixture& process) {
  std::string out;
  const JobBatches& batches = process.broker.view().batches();
  for (const JobBatches::Slot slot : batches.by_creation()) {
    const JobBatch& batch = batches.at(slot);
    const JobBatchFields& fields = batch.fields;
    out += std::to_string(batch.id) + " of " + std::to_string(batch.parent);
    for (const std::uint64_t number : std::initializer_list<std::uint64_t>{
             fields.total, fields.lost, fields.pending, fields.failing, fields.unexecuted,
             fields.children, fields.unsettled, fields.unsuccessful}) {
      out += " " + std::to_string(number);
    }
    out += " states " + std::to_string(fields.states) + "\n";
  }
  return out;
}

/// How many callbacks of each batch and kind the log ever had.
std::map<std::pair<JobBatchId, int>, int> callbacks_in(const Frames& frames) {
  std::map<std::pair<JobBatchId, int>, int> counts;
  for (const std::string& frame : frames) {
    std::string_view rest = frame;
    while (!rest.empty()) {
      const Outcome<Record> record = decode(rest);
      REQUIRE(record);
      const auto* const added = std::get_if<JobAdded>(&*record);
      if (added == nullptr || !added->fields.features) continue;
      const JobFeatures& features = *added->fields.features;
      if (features.is_callback()) ++counts[{features.batch, static_cast<int>(features.role)}];
    }
  }
  return counts;
}

/// The process is killed after each frame, started again, and goes on: the batches are as they are
/// without that, and no callback is missing or pushed twice.
void check_every_kill(const Steps& steps) {
  BatchFixture unharmed;
  const Frames frames = play(unharmed, steps, 0);
  const std::string states = tell_batches(unharmed);
  const auto callbacks = callbacks_in(frames);
  for (const auto& [of, count] : callbacks) CHECK(count == 1);
  for (std::size_t killed = 0; killed <= frames.size(); ++killed) {
    CAPTURE(killed);
    BatchFixture restarted;
    Frames all(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(killed));
    Lsn begin = 1000;
    for (const std::string& frame : all) {
      REQUIRE(restarted.ledger.replay(frame, begin));
      begin += 100 + frame.size();
    }
    restarted.settle();
    CHECK_FALSE(restarted.ledger.has_batch());
    for (std::string& frame : play(restarted, steps, killed)) all.push_back(std::move(frame));
    CHECK(tell_batches(restarted) == states);
    CHECK(callbacks_in(all) == callbacks);
  }
}

Step add(JobBatchId id, std::initializer_list<BatchRole> roles, JobBatchId parent = 0) {
  return [=, all = std::vector(roles)](BatchFixture& process) {
    all.size() == 2 ? process.add(id, {all[0], all[1]}, parent) : process.add(id, {all[0]}, parent);
  };
}
Step commit(JobBatchId id) {
  return [=](BatchFixture& process) { process.commit(id); };
}
Step open(JobBatchId id) {
  return [=](BatchFixture& process) { process.open(id); };
}
Step push(JobBatchId id, const std::string& jid) {
  return [=](BatchFixture& process) { process.push_member(id, "jid=" + jid); };
}
Step fetch(const std::string& queue = "default") {
  return [=](BatchFixture& process) { process.fetch_next(queue); };
}
Step ack(const std::string& jid) {
  return [=](BatchFixture& process) { process.ack_named(jid); };
}
Step fail(const std::string& jid) {
  return [=](BatchFixture& process) { process.fail_named(jid); };
}
/// The only job that waits for its retry.
Step requeue() {
  return [](BatchFixture& process) {
    JobId id = 0;
    process.broker.view().jobs().page(JobState::kRetrying, {}, 1,
                                      [&](const Job& job) { id = job.id; });
    process.change(id, Mutation::Action::kRequeue);
  };
}

}  // namespace

TEST_CASE("batch replay: an empty batch, killed after each frame, pushes each callback once") {
  check_every_kill({add(7, {kComplete, kSuccess}), commit(7), fetch("callbacks"), ack("complete-7"),
                    fetch("callbacks"), ack("success-7")});
}

TEST_CASE("batch replay: a batch with a failed member, killed after each frame, ends as it does") {
  check_every_kill({add(7, {kComplete, kSuccess}), push(7, "a"), push(7, "b"), commit(7), fetch(),
                    ack("a"), fetch(), fail("b"), fetch("callbacks"), ack("complete-7"), requeue(),
                    fetch(), ack("b"), fetch("callbacks"), ack("success-7")});
}

TEST_CASE("batch replay: nested batches, killed after each frame, push each callback once") {
  check_every_kill({add(1, {kComplete, kSuccess}),
                    push(1, "p1"),
                    commit(1),
                    fetch(),
                    add(2, {kComplete, kSuccess}, 1),
                    push(2, "c1"),
                    commit(2),
                    ack("p1"),
                    fetch(),
                    open(2),
                    push(2, "c2"),
                    ack("c1"),
                    commit(2),
                    fetch(),
                    ack("c2"),
                    fetch("callbacks"),
                    ack("complete-2"),
                    fetch("callbacks"),
                    ack("success-2"),
                    fetch("callbacks"),
                    ack("complete-1"),
                    fetch("callbacks"),
                    ack("success-1")});
}

TEST_CASE("batch replay: a deleted batch and an accepted member stay so after a restart") {
  check_every_kill(
      {add(7, {kSuccess}), push(7, "a"), commit(7), fetch(), fail("a"),
       [](BatchFixture& process) {
         const Mutation all{.set = JobState::kRetrying, .action = Mutation::Action::kDiscard};
         REQUIRE(process.broker.admin().mutate(process.worker, all, process.now));
       },
       [](BatchFixture& process) {
         REQUIRE(process.broker.batches().accept_lost(7, 1, process.now));
       },
       fetch("callbacks"), ack("success-7"),
       [](BatchFixture& process) { REQUIRE(process.broker.batches().remove(7, process.now)); }});
}

}  // namespace millrace::test
