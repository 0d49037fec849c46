// The doors and the core without journal and network: processor time per operation, each a command
// of 128 bytes of body, with so many jobs in the server before.

#include <benchmark/benchmark.h>

#include <string>

#include "beanstalk/door.hpp"
#include "core/broker.hpp"
#include "faktory/door.hpp"
#include "faktory/work_unit.hpp"

namespace {

using namespace millrace;

/// One client of each door. What is recorded is thrown away, as a volatile journal does.
struct World {
  World() {
    beanstalk->start(now);
    faktory->start(now);
    tell(*faktory, "HELLO {\"v\":2,\"wid\":\"w\",\"pid\":1,\"hostname\":\"h\",\"labels\":[]}\r\n");
  }
  ~World() {
    beanstalk->close(now);
    faktory->close(now);
  }

  std::string& tell(Session& session, std::string_view command) {
    session.output().clear();
    session.receive(command, now);
    (void)broker.take_woken();
    (void)broker.take_batch();
    return session.output();
  }

  void put() { tell(*beanstalk, put_command); }

  void push() {
    tell(*faktory, "PUSH {\"jid\":\"job-" + std::to_string(++pushed) +
                       "-abcdef\",\"jobtype\":\"SomeJob\",\"args\":[\"" + body +
                       "\"],\"queue\":\"default\"}\r\n");
  }

  Time now = Time{} + 1h;
  std::string body = std::string(128, 'x');
  std::string put_command = "put 0 0 60 128\r\n" + body + "\r\n";
  std::uint64_t pushed = 0;
  faktory::WorkUnits format;
  Broker broker{format, {}};
  beanstalk::Door beanstalk_door{broker, format, {}, now};
  faktory::Door faktory_door{broker, format, {}, now};
  std::unique_ptr<Session> beanstalk = beanstalk_door.open();
  std::unique_ptr<Session> faktory = faktory_door.open();
};

void put(benchmark::State& state) {
  World world;
  for (auto _ : state) world.put();
}

void put_reserve_delete(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.put();
  for (auto _ : state) {
    world.put();
    const std::string& reserved = world.tell(*world.beanstalk, "reserve\r\n");
    world.tell(*world.beanstalk,
               "delete " + reserved.substr(9, reserved.find(' ', 9) - 9) + "\r\n");
  }
}

void push(benchmark::State& state) {
  World world;
  for (auto _ : state) world.push();
}

void push_fetch_ack(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.push();
  std::uint64_t acked = 0;
  for (auto _ : state) {
    world.push();
    world.tell(*world.faktory, "FETCH default\r\n");
    world.tell(*world.faktory, "ACK {\"jid\":\"job-" + std::to_string(++acked) + "-abcdef\"}\r\n");
  }
}

BENCHMARK(put);
BENCHMARK(put_reserve_delete)->Arg(0)->Arg(1'000'000);
BENCHMARK(push);
BENCHMARK(push_fetch_ack)->Arg(0)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
