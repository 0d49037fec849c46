// The protocols and the core without journal and network: processor time per operation, each a
// command of 128 bytes of body, with so many jobs in the server before. And of the pieces they are
// made of.

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/state/batch_reader.hpp"
#include "core/state/index/job_index.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/json/timestamp.hpp"
#include "world.hpp"

namespace {

using namespace millrace;

constexpr int kKicked = 10'000;

void put(benchmark::State& state) {
  World world;
  for (auto _ : state) world.put();
}

void put_reserve_delete(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.put();
  for (auto _ : state) world.put_reserve_delete();
}

void push(benchmark::State& state) {
  World world;
  for (auto _ : state) world.push();
}

void kick(benchmark::State& state) {
  World world;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kKicked; ++i) {
      world.put();
      world.reserve_and("bury", " 0");
    }
    state.ResumeTiming();
    world.tell(*world.beanstalk, "kick " + std::to_string(kKicked) + "\r\n");
    world.settle();
    state.PauseTiming();
    for (int i = 0; i < kKicked; ++i) world.reserve_and("delete");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kKicked);
}

/// A restart after so many puts.
void replay(benchmark::State& state) {
  std::string log;
  World before;
  before.log = &log;
  for (std::int64_t i = 0; i < state.range(0); ++i) before.put();
  for (auto _ : state) CHECK(World().ledger.replay(log, 0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void push_fetch_ack(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.push();
  for (auto _ : state) world.push_fetch_ack();
}

// ---- the pieces ---------------------------------------------------------------------------------

const std::string kBody(128, 'x');
const Record kAdded = [] {
  JobAdded record{.id = 1'000'000, .queue = "default", .body = kBody};
  record.fields.created_at = Time{1h};
  return record;
}();

void encode_job(benchmark::State& state) {
  std::string batch;
  for (auto _ : state) {
    batch.clear();
    encode(kAdded, batch);
  }
}

void decode_job(benchmark::State& state) {
  std::string batch;
  encode(kAdded, batch);
  for (auto _ : state) benchmark::DoNotOptimize(BatchReader(batch).next());
}

void read_pushed_json(benchmark::State& state) {
  const std::string json =
      R"({"jid":"job-1-abcdef","jobtype":"SomeJob","args":[")" + kBody + R"("],"queue":"default"})";
  faktory::JobReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.read(json));
}

/// The body of a FETCH.
void render_job(benchmark::State& state) {
  World world;
  world.push();
  const Job& job = *world.broker.view().jobs().find(1);
  std::string text;
  for (auto _ : state) {
    text.clear();
    world.format.render(job, "default", {}, text);
    benchmark::DoNotOptimize(text.data());
  }
}

void write_time(benchmark::State& state) {
  std::string text;
  Time time{1h};
  for (auto _ : state) {
    text.clear();
    faktory::append_time(time += 1ms, text);
  }
}

/// Ids in sequence, or one of each line.
void find_job(benchmark::State& state) {
  constexpr JobId kIds = 1'000'000;
  const auto step = static_cast<JobId>(state.range(0));
  JobIndex index;
  for (JobId id = 1; id <= kIds; ++id) index.insert(id * step, static_cast<JobSlot>(id));
  JobId next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(index.find((++next % kIds + 1) * step));
}

BENCHMARK(put);
BENCHMARK(put_reserve_delete)->Arg(0)->Arg(1'000'000);
BENCHMARK(kick);
BENCHMARK(replay)->Arg(100'000);
BENCHMARK(push);
BENCHMARK(push_fetch_ack)->Arg(0)->Arg(1'000'000);
BENCHMARK(encode_job);
BENCHMARK(decode_job);
BENCHMARK(read_pushed_json);
BENCHMARK(render_job);
BENCHMARK(write_time);
BENCHMARK(find_job)->Arg(1)->Arg(16);

}  // namespace

BENCHMARK_MAIN();
