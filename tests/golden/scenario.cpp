#include "golden/scenario.hpp"

#include <array>
#include <chrono>
#include <map>
#include <string_view>

#include "base/text.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::golden {
namespace {

using namespace std::chrono_literals;
using test::InMemoryServer;
using test::Protocol;

constexpr std::array kStates = {"scheduled", "ready", "reserved", "retrying", "dead"};

void put(InMemoryServer& server, const std::string& how, const std::string& body) {
  server.send("producer",
              "put " + how + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
}

void say(InMemoryServer& server, const std::string& client, const std::string& line) {
  server.send(client, line + "\r\n");
}

void connect(InMemoryServer& server) {
  server.connect("producer", Protocol::kBeanstalk);
  server.connect("consumer", Protocol::kBeanstalk);
  server.connect("pusher", Protocol::kFaktory);
  say(server, "pusher", R"(HELLO {"v":2})");
}

/// So that there is a history: a day that is over.
void work_yesterday(InMemoryServer& server) {
  say(server, "pusher", R"(PUSH {"jid":"yesterday","jobtype":"T","args":[],"queue":"early"})");
  say(server, "pusher", "FETCH early");
  say(server, "pusher", R"(ACK {"jid":"yesterday"})");
  server.advance(24h);
  server.connect("worker", Protocol::kFaktory);
  say(server, "worker", R"(HELLO {"v":2,"wid":"worker-1","hostname":"host","pid":7})");
}

void work_with_tubes(InMemoryServer& server) {
  say(server, "consumer", "watch mail");
  say(server, "consumer", "use mail");
  say(server, "producer", "use mail");
  put(server, "10 0 60", "released, buried and kicked");                      // 2
  put(server, "20 0 1", "timed out");                                         // 3
  put(server, "30 0 60", "");                                                 // 4, stays ready
  put(server, "4294967295 100000 4294967295", std::string("\0\r\n\xff", 4));  // 5, stays delayed
  for (const char* const line : {"reserve", "release 2 11 0", "reserve", "bury 2 12", "kick 1",
                                 "reserve", "touch 2", "release 2 13 86400000", "reserve"}) {
    say(server, "consumer", line);
  }
  server.advance(2s);
  put(server, "5 0 60", "buried");                         // 6
  put(server, "5 0 60", "deleted");                        // 7
  put(server, "5 0 60", "reserved by a connection");       // 8
  put(server, "0 0 60", "reserved after it was delayed");  // 9
  for (const char* const line : {"reserve-job 6", "bury 6 77", "delete 7", "reserve-job 9",
                                 "release 9 1 86400", "reserve-job 9", "reserve-job 8"}) {
    say(server, "consumer", line);
  }
  say(server, "producer", "use idle");
  put(server, "0 0 60", std::string(2000, 'l'));  // 10
  say(server, "producer", "pause-tube idle 86400000");
}

void work_with_queues(InMemoryServer& server) {
  const auto push = [&](const std::string& more) {
    say(server, "pusher", R"(PUSH {"jobtype":"Mail","args":[1,"two",{"three":3}],)" + more + "}");
  };
  const auto fail = [&](const std::string& jid) {
    say(server, "worker", "FETCH work");
    say(server, "worker",
        R"(FAIL {"jid":")" + jid +
            R"(","errtype":"IOError","message":"no \u00e9nd",)"
            R"("backtrace":["one.rb:1","two.rb:22"]})");
  };
  push(R"("jid":"acknowledged","queue":"work")");
  say(server, "worker", "FETCH work");
  say(server, "worker", R"(ACK {"jid":"acknowledged"})");
  push(R"("jid":"will-retry","queue":"work","retry":3)");
  fail("will-retry");
  push(R"("jid":"gave-up-early","queue":"work","retry":0)");
  fail("gave-up-early");
  push(R"("jid":"was-dropped","queue":"work","retry":-1)");
  fail("was-dropped");
  push(R"("jid":"scheduled-one","queue":"work","at":"2033-05-18T03:33:20.123456789Z")");
  push(R"("jid":"killed-one","queue":"work","at":"2033-05-18T03:33:21Z","custom":{"k":"v"})");
  say(server, "worker",
      R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"jids":["killed-one"]}})");
  push(R"("jid":"held-by-worker","queue":"work","reserve_for":86400)");
  say(server, "worker", "FETCH work");
  push(R"("jid":"held-by-nobody","queue":"work","reserve_for":86400)");
  say(server, "pusher", "FETCH work");
  push(R"("jid":"waits-here","queue":"work","priority":9)");
  say(server, "pusher",
      R"(PUSHB [{"jid":"bulk-1-of-2","jobtype":"B","args":[],"queue":"bulk"},)"
      R"({"jid":"bulk-2-of-2","jobtype":"B","args":[],"queue":"bulk"}])");
  say(server, "consumer", "watch bulk");
  say(server, "worker", "QUEUE PAUSE bulk");
  push(R"("jid":"emptied-one","queue":"emptied")");
  say(server, "worker", "QUEUE REMOVE emptied");
  push(R"("jid":"kept-queue","queue":"kept")");
  say(server, "worker", "FETCH kept");
  say(server, "worker", R"(ACK {"jid":"kept-queue"})");
}

std::string number(Time time) {
  return std::to_string(time.time_since_epoch().count());
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char& byte : bytes) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '\\';
    text += is_plain ? std::string{byte} : "\\x" + hex_of({&byte, 1});
  }
  return text;
}

std::string tell_job(const View& view, const Job& job) {
  const Tallies tallies = job.tallies();
  std::string text =
      "job " + std::to_string(job.id) + (job.kind == JobKind::kWorkUnit ? " pushed" : " put") +
      "\n  " + kStates[static_cast<std::size_t>(job.state)] + " in " + view.queue_of(job).name +
      " pri=" + std::to_string(job.pri) + " sequence=" + std::to_string(job.sequence) +
      " ttr_s=" + std::to_string(job.ttr_s) + " delay_s=" + std::to_string(job.delay_s) +
      "\n  created_at=" + number(job.created_at) + " enqueued_at=" + number(job.enqueued_at) +
      " when=" + number(job.when) + "\n  reserves=" + std::to_string(tallies.reserves) +
      " timeouts=" + std::to_string(tallies.timeouts) +
      " releases=" + std::to_string(tallies.releases) +
      " buries=" + std::to_string(tallies.buries) + " kicks=" + std::to_string(tallies.kicks);
  if (const Failure* const failure = job.failure()) {
    text += "\n  failure retry_count=" + std::to_string(failure->retry_count) +
            " remaining=" + std::to_string(failure->remaining) +
            " failed_at=" + number(failure->failed_at) + " next_at=" + number(failure->next_at) +
            " " + printable(failure->errtype) + ": " + printable(failure->message);
    for (const std::string& line : failure->backtrace) text += "\n    at " + printable(line);
  }
  if (const Reservation* const held = job.reservation()) {
    text +=
        "\n  held by '" + held->wid + "' as '" + held->jid + "' since " + number(held->reserved_at);
  }
  return text + "\n  body " + printable(job.body_view()) + "\n";
}

}  // namespace

std::vector<std::string> record_life() {
  InMemoryServer server;
  connect(server);
  work_yesterday(server);
  work_with_tubes(server);
  work_with_queues(server);
  return server.take_batches();
}

std::string tell(const View& view) {
  std::string text;
  const CountersChanged& counters = view.counters();
  for (JobId id = 1; id < counters.next_id; ++id) {
    if (const Job* const job = view.find(id)) text += tell_job(view, *job);
  }
  // Tubes that only a client keeps come and go with it.
  std::map<std::string, std::string> queues;
  view.each_queue([&](const Queue& queue) {
    if (!queue.is_kept && queue.paused_until == Time{}) return;
    queues[queue.name] = std::string(queue.is_kept ? " kept" : "") +
                         " paused_until=" + number(queue.paused_until) +
                         " pause_s=" + std::to_string(queue.pause_s);
  });
  for (const auto& [name, what] : queues) text += "queue " + name + what + "\n";
  text += "counters next_id=" + std::to_string(counters.next_id) +
          " processed=" + std::to_string(counters.processed) +
          " failed=" + std::to_string(counters.failed) + " day=" + std::to_string(counters.day) +
          " processed_today=" + std::to_string(counters.processed_today) +
          " failed_today=" + std::to_string(counters.failed_today) + "\n";
  for (const DayCounts& day : view.history()) {
    text += "day " + std::to_string(day.day) + " processed=" + std::to_string(day.processed) +
            " failed=" + std::to_string(day.failed) + "\n";
  }
  return text;
}

}  // namespace millrace::golden
