#include "dialogue.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench::test {

/// One connection's dialogue, with the replies that the test makes up.
class Talk {
 public:
  explicit Talk(const char* work) : plan_{.works = {work}, .operations = 10, .body_bytes = {2}} {}

  std::string begin(std::size_t operations) {
    std::string out;
    dialogue_->begin(operations, out);
    return out;
  }
  /// What is said once these replies came, with the number of commands before it.
  std::string after(std::initializer_list<std::string> replies) {
    for (const std::string& reply : replies) hear(reply);
    std::string out;
    const std::size_t commands = dialogue_->go_on(out);
    return std::to_string(commands) + ' ' + out;
  }
  std::string drain() {
    std::string out;
    dialogue_->drain(out);
    return out;
  }
  /// The reply comes whole only with its last byte.
  void hear(const std::string& reply) {
    CHECK(dialogue_->answer(std::string_view(reply).substr(0, reply.size() - 1)) == 0);
    CHECK(dialogue_->answer(reply) == reply.size());
  }
  [[nodiscard]] const Deliveries& deliveries() const { return deliveries_; }

 private:
  Plan plan_;
  Deliveries deliveries_{plan_};
  std::unique_ptr<Dialogue> dialogue_ = make_dialogue(plan_, 0, deliveries_);
};

/// What becomes of a connection that greets and hears this.
void greet(std::initializer_list<std::string_view> replies) {
  const Plan plan{.works = {"put"}};
  Deliveries deliveries(plan);
  const auto dialogue = make_dialogue(plan, 0, deliveries);
  std::string said;
  CHECK(dialogue->greet(said) == 3);
  CHECK(said == "use q0\r\nwatch q0\r\nignore default\r\n");
  for (const std::string_view reply : replies) {
    CHECK(dialogue->answer_greeting(reply.substr(0, reply.size() - 1)) == 0);
    CHECK(dialogue->answer_greeting(reply) == reply.size());
  }
}

/// The reply to a FETCH.
std::string fetched(const std::string& job) {
  const std::string text = R"({"jid":"load-job-)" + job + R"(","args":[")" + job + R"( "]})";
  return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

TEST_CASE("put: the tube that was asked for is used and watched") {
  CHECK_NOTHROW(greet({"USING q0\r\n", "WATCHING 2\r\n", "WATCHING 1\r\n"}));
}

TEST_CASE("put: a tube that the server refuses is noticed") {
  CHECK_THROWS_WITH_AS(greet({"BAD_FORMAT\r\n"}), "unexpected reply: BAD_FORMAT",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(greet({"USING q01\r\n"}), "unexpected reply: USING q01", std::runtime_error);
  CHECK_THROWS_WITH_AS(greet({"USING q0\r\n", "BAD_FORMAT\r\n"}), "unexpected reply: BAD_FORMAT",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(greet({"USING q0\r\n", "WATCHING 2\r\n", "NOT_IGNORED\r\n"}),
                       "unexpected reply: NOT_IGNORED", std::runtime_error);
}

TEST_CASE("put: a bundle is done with its replies") {
  Talk talk("put");
  CHECK(talk.begin(2) == "put 0 0 60 2\r\n0 \r\nput 0 0 60 2\r\n1 \r\n");
  CHECK(talk.after({"INSERTED 1\r\n", "INSERTED 2\r\n"}) == "0 ");
}

TEST_CASE("put-cycle: a bundle is put, reserved and deleted, step by step") {
  Talk talk("put-cycle");
  talk.begin(2);
  CHECK(talk.after({"INSERTED 1\r\n", "INSERTED 2\r\n"}) == "2 reserve\r\nreserve\r\n");
  CHECK(talk.after({"RESERVED 2 2\r\n1 \r\n", "RESERVED 1 2\r\n0 \r\n"}) ==
        "2 delete 2\r\ndelete 1\r\n");
  CHECK(talk.after({"DELETED\r\n", "DELETED\r\n"}) == "0 ");
  CHECK(talk.deliveries().came() == 2);
}

TEST_CASE("push-cycle: a bundle is pushed, fetched and acknowledged, step by step") {
  Talk talk("push-cycle");
  talk.begin(2);
  CHECK(talk.after({"+OK\r\n", "+OK\r\n"}) == "2 FETCH q0\r\nFETCH q0\r\n");
  CHECK(talk.after({fetched("1"), fetched("0")}) ==
        "2 ACK {\"jid\":\"load-job-1\"}\r\nACK {\"jid\":\"load-job-0\"}\r\n");
  CHECK(talk.after({"+OK\r\n", "+OK\r\n"}) == "0 ");
  CHECK(talk.deliveries().came() == 2);
}

TEST_CASE("push-cycle: what found nothing is fetched again before anything is acknowledged") {
  Talk talk("push-cycle");
  talk.begin(2);
  talk.after({"+OK\r\n", "+OK\r\n"});
  CHECK(talk.after({"$-1\r\n", fetched("0")}) == "1 FETCH q0\r\n");
  CHECK(talk.after({fetched("1")}).starts_with("2 ACK "));
}

TEST_CASE("a bundle after another begins anew") {
  Talk talk("put-cycle");
  talk.begin(1);
  talk.after({"INSERTED 1\r\n"});
  talk.after({"RESERVED 1 2\r\n0 \r\n"});
  talk.after({"DELETED\r\n"});
  CHECK(talk.begin(1) == "put 0 0 60 2\r\n1 \r\n");
  CHECK(talk.after({"INSERTED 2\r\n"}) == "1 reserve\r\n");
}

TEST_CASE("a job that comes twice is noticed, and one that was never put") {
  Talk talk("push-cycle");
  talk.begin(2);
  talk.after({"+OK\r\n", "+OK\r\n"});
  talk.hear(fetched("0"));
  CHECK_THROWS_WITH_AS(talk.hear(fetched("0")), "job 0 came twice", std::runtime_error);
  CHECK_THROWS_AS(talk.hear(fetched("2")), std::runtime_error);
}

TEST_CASE("a mix: connections take turns in the works, and jobs in the sizes") {
  const Plan plan{.works = {"put", "put-cycle"}, .operations = 10, .body_bytes = {2, 5}};
  Deliveries deliveries(plan);
  const auto putting = make_dialogue(plan, 0, deliveries);
  const auto cycling = make_dialogue(plan, 1, deliveries);
  std::string said;
  putting->begin(1, said);
  cycling->begin(1, said);
  CHECK(said == "put 0 0 60 2\r\n0 \r\nput 0 0 60 5\r\n1    \r\n");
  CHECK(putting->answer("INSERTED 1\r\n") > 0);
  CHECK(cycling->answer("INSERTED 2\r\n") > 0);
  CHECK(putting->go_on(said) == 0);
  CHECK(cycling->go_on(said) == 1);
  CHECK(cycling->answer("RESERVED 1 2\r\n0 \r\n") > 0);
}

TEST_CASE("a mix: connections take turns in the works, and works in the queues") {
  const Plan plan{.works = {"put", "put-cycle"}, .operations = 10, .queues = 2};
  Deliveries deliveries(plan);
  std::string said;
  for (std::size_t i = 0; i < 5; ++i) {
    std::string greeting;
    make_dialogue(plan, i, deliveries)->greet(greeting);
    said += greeting.substr(0, greeting.find('\r')) + ' ';
  }
  CHECK(said == "use q0 use q0 use q1 use q1 use q0 ");
}

TEST_CASE("drain: what is left is reserved and deleted, one after the other") {
  Talk talk("put");
  talk.begin(1);
  CHECK(talk.after({"INSERTED 7\r\n"}) == "0 ");
  CHECK(talk.drain() == "reserve-with-timeout 0\r\n");
  CHECK(talk.after({"RESERVED 7 2\r\n0 \r\n"}) == "1 delete 7\r\n");
  CHECK(talk.after({"DELETED\r\n"}) == "1 reserve-with-timeout 0\r\n");
  CHECK(talk.after({"TIMED_OUT\r\n"}) == "0 ");
  CHECK(talk.deliveries().came() == talk.deliveries().given());
}

TEST_CASE("drain: what is left is fetched and acknowledged, one after the other") {
  Talk talk("push");
  talk.begin(1);
  CHECK(talk.after({"+OK\r\n"}) == "0 ");
  CHECK(talk.drain() == "FETCH q0\r\n");
  CHECK(talk.after({fetched("0")}) == "1 ACK {\"jid\":\"load-job-0\"}\r\n");
  CHECK(talk.after({"+OK\r\n"}) == "1 FETCH q0\r\n");
  CHECK(talk.after({"$-1\r\n"}) == "0 ");
  CHECK(talk.deliveries().came() == talk.deliveries().given());
}

TEST_CASE("drain: a job more than were put is noticed") {
  Talk beanstalk("put-cycle");
  beanstalk.drain();
  CHECK_THROWS_AS(beanstalk.hear("RESERVED 3 2\r\n0 \r\n"), std::runtime_error);
  Talk faktory("push-cycle");
  faktory.drain();
  CHECK_THROWS_AS(faktory.hear(fetched("0")), std::runtime_error);
}

TEST_CASE("a plan that cannot be is refused") {
  CHECK_NOTHROW(check({.works = {"put", "put-cycle"}, .delay_seconds = 1}));
  CHECK_NOTHROW(check({.works = {"push"}, .at = "2100-01-01T00:00:00Z"}));
  CHECK_THROWS_WITH_AS(check({.works = {"put", "push"}}), "works of both protocols",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(check({.works = {"push"}, .delay_seconds = 1}), "a delay is of put",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(check({.works = {"put"}, .at = "2100-01-01T00:00:00Z"}), "a time is of push",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(check({.works = {"put"}, .delay_seconds = 1, .is_draining = true}),
                       "jobs that are not due yet cannot be drained", std::invalid_argument);
}

TEST_CASE("a plan with a work that there is not is refused") {
  for (const char* work : {"pop", "", "pushing", "PUT"}) {
    CHECK_THROWS_WITH_AS(check({.works = {"put", work}}),
                         (std::string("no such work: ") + work).c_str(), std::invalid_argument);
  }
}

TEST_CASE("a plan with more queues than all works come to is refused") {
  const char* const refusal = "not every queue gets a connection for each work";
  CHECK_NOTHROW(check({.connections = 4, .queues = 4}));
  CHECK_THROWS_WITH_AS(check({.connections = 4, .queues = 5}), refusal, std::invalid_argument);
  CHECK_NOTHROW(check({.works = {"put", "put-cycle"}, .connections = 4, .queues = 2}));
  CHECK_THROWS_WITH_AS(check({.works = {"put", "put-cycle"}, .connections = 3, .queues = 2}),
                       refusal, std::invalid_argument);
}

TEST_CASE("a plan with fewer connections than shares has one queue") {
  CHECK_NOTHROW(check({.works = {"put", "put", "put-cycle"}, .connections = 2, .queues = 1}));
}

TEST_CASE("a body that is not the one that was put") {
  Talk talk("put-cycle");
  talk.begin(1);
  talk.after({"INSERTED 1\r\n"});
  CHECK_THROWS_WITH_AS(talk.hear("RESERVED 1 3\r\n0 x\r\n"), "another body: 0 x",
                       std::runtime_error);
}

TEST_CASE("another reply than the one that must come is noticed") {
  Talk talk("put");
  talk.begin(1);
  CHECK_THROWS_WITH_AS(talk.hear("OUT_OF_MEMORY\r\n"), "unexpected reply: OUT_OF_MEMORY",
                       std::runtime_error);
}

TEST_CASE("the payload of a put is its body, that of a PUSH its JSON") {
  Talk put("put");
  put.begin(2);
  CHECK(put.deliveries().payload_bytes() == 4);
  Talk push("push");
  const std::string said = push.begin(1);
  CHECK(said ==
        "PUSH {\"jid\":\"load-job-0\",\"jobtype\":\"SomeJob\",\"args\":[\"0 \"],"
        "\"queue\":\"q0\"}\r\n");
  CHECK(push.deliveries().payload_bytes() == said.size() - std::string("PUSH \r\n").size());
}

}  // namespace bench::test
