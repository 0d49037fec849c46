#include "http/routes/job_filter.hpp"

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("jobs: filters by type, its beginning, jid, error and text") {
  WebFixture web;
  web.push("SendMail");
  web.push("Other", "default", R"(,"custom":{"needle":1})");
  web.fail("Failing", "connection RESET by peer");
  const auto count = [&](const std::string& filter) {
    return web.read("/api/v1/jobs?" + filter)["jobs"].size();
  };
  CHECK(count("type=SendMail") == 1);
  CHECK(count("type=Send") == 0);
  CHECK(count("type=Send*") == 1);
  CHECK(count("id=job-1001") == 1);
  CHECK(count("id=2") == 1);
  CHECK(count("text=needle") == 1);
  CHECK(count("state=retrying&error=reset") == 1);
  CHECK(count("state=retrying&error=refused") == 0);
}

TEST_CASE("jobs: a framework's jobs are shown with the class that they wrap, and found by it") {
  WebFixture web;
  const JobId pushed = web.push("ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper", "default",
                                R"(,"custom":{"wrapped":"InvoiceJob"})");
  const JobId put = web.put(R"({"body":"{}","headers":{"type":"App\\Message\\Send"}})");
  web.push("Other");
  const Json wrapped = web.read("/api/v1/jobs?state=ready&type=InvoiceJob")["jobs"];
  REQUIRE(wrapped.size() == 1);
  CHECK(wrapped[0]["id"] == pushed);
  CHECK(wrapped[0]["type"] == "InvoiceJob");
  const Json message = web.read("/api/v1/jobs?state=ready&type=App*")["jobs"];
  REQUIRE(message.size() == 1);
  CHECK(message[0]["id"] == put);
  CHECK(message[0]["type"] == "App\\Message\\Send");
  CHECK(web.read("/api/v1/jobs?state=ready&type=ActiveJob*")["jobs"].empty());
  const Json types = web.read("/api/v1/jobs/count?state=ready&breakdown=1")["types"];
  CHECK(types.size() == 3);
  // Its bytes are shown as they are: they are no work unit.
  CHECK(web.read("/api/v1/jobs/" + std::to_string(put))["work_unit"] == nullptr);
  CHECK(web.read("/api/v1/jobs/" + std::to_string(pushed))["work_unit"]["custom"] ==
        Json{{"wrapped", "InvoiceJob"}});
}

TEST_CASE("jobs: a queue is named, or the beginning of the names of several") {
  WebFixture web;
  for (const char* queue : {"mail", "other", "mail-slow"}) web.push("Send", queue);
  web.fetch("mail");
  const auto queues = [&](const std::string& filter) {
    std::string found;
    const Json page = web.read("/api/v1/jobs?" + filter);
    for (const Json& job : page["jobs"]) found += job["queue"].get<std::string>() + " ";
    return found;
  };
  CHECK(queues("queue=mail") == "");
  CHECK(queues("queue=mail*") == "mail-slow ");
  CHECK(queues("queue=*") == "other mail-slow ");
  CHECK(queues("queue=*&order=desc") == "mail-slow other ");
  CHECK(queues("state=reserved&queue=mail*") == "mail ");
  CHECK(queues("state=reserved&queue=o*") == "");
  // The jobs of the others are passed at once.
  const Json page = web.read("/api/v1/jobs?queue=mail-*");
  CHECK(page["looked_at"] == 2);
  CHECK(page["to_look_at"] == 2);
}

TEST_CASE("jobs: an age filter leaves out what is younger") {
  WebFixture web;
  web.push("Old");
  web.now += 10min;
  web.push("New");
  const Json page = web.read("/api/v1/jobs?older_than_s=300");
  REQUIRE(page["jobs"].size() == 1);
  CHECK(page["jobs"][0]["type"] == "Old");
}

TEST_CASE("jobs: those of which a run failed within a time") {
  WebFixture web;
  const auto begin = std::chrono::floor<std::chrono::milliseconds>(web.now.time_since_epoch());
  web.fail("Early", "no");
  web.now += 60s;
  web.fail("Late", "no");
  web.push("Never");
  const auto types = [&](const std::string& state, int since_s, int until_s) {
    const Json page =
        web.read(concat("/api/v1/jobs?state=", state,
                        "&failed_since_ms=", (begin + std::chrono::seconds{since_s}).count(),
                        "&failed_until_ms=", (begin + std::chrono::seconds{until_s}).count()));
    std::string found;
    for (const Json& job : page["jobs"]) found += job["type"].get<std::string>() + " ";
    return found;
  };
  CHECK(types("retrying", 0, 61) == "Early Late ");
  CHECK(types("retrying", 0, 60) == "Early ");
  CHECK(types("retrying", 1, 61) == "Late ");
  CHECK(types("retrying", 1, 60).empty());
  CHECK(types("ready", 0, 61).empty());
  CHECK(web.get("/api/v1/jobs?failed_since_ms=0").status == 400);
  CHECK(web.get("/api/v1/jobs?failed_until_ms=soon").status == 400);
}

TEST_CASE("jobs: a filter that no name or error can be is refused, but of a body all bytes are") {
  WebFixture web;
  web.put("\xff\x01");
  CHECK(web.get("/api/v1/jobs?error=\xff").status == 400);
  CHECK(web.get("/api/v1/jobs?queue=\xc3").status == 400);
  CHECK(web.read("/api/v1/jobs?error=\xc3\xa9")["jobs"].empty());
  CHECK(web.read("/api/v1/jobs?text=\xff")["jobs"].size() == 1);
}

TEST_CASE("jobs: a text is found that its client has escaped") {
  WebFixture web;
  web.push("Mail", "mail", R"(,"custom":{"name":"\u674e"})");
  web.put(R"({"path":"a\/b"})");
  web.put("other");
  CHECK(web.read("/api/v1/jobs?text=李")["jobs"].size() == 1);
  CHECK(web.read("/api/v1/jobs/count?text=a/b")["matched"] == 1);
  CHECK(web.read("/api/v1/jobs?text=\\u674e")["jobs"].size() == 1);
}

TEST_CASE("jobs: a filter that says nothing is refused") {
  WebFixture web;
  web.put("x");
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/count"}) {
    for (const char* filter : {"queue=", "type=", "id=", "error=", "group=", "text=", "wid=",
                               "client=", "client=0", "older_than_s=", "older_than_s=0"}) {
      CHECK_MESSAGE(web.get(concat(path, "?", filter)).status == 400, filter);
    }
  }
}

TEST_CASE("jobs: a long body is searched in as many turns as it takes") {
  WebFixture web;
  web.put("before");
  const JobId id = web.put(std::string(5 * kSliceSteps, 'a') + "b");
  web.put("after");
  const std::string part(1000, 'a');
  Json page = web.read("/api/v1/jobs?text=" + part + "b");
  CHECK(web.turns == 6);
  REQUIRE(page["jobs"].size() == 1);
  CHECK(page["jobs"][0]["id"] == id);
  CHECK(page["looked_at"] == 3);
  CHECK(page["next"] == nullptr);
  CHECK(web.read("/api/v1/jobs?text=" + part + "c")["jobs"].empty());
  CHECK(web.read("/api/v1/jobs?limit=1&text=" + part + "b")["next"] != nullptr);
  CHECK(web.read("/api/v1/jobs/count?text=" + part + "b")["matched"] == 1);
  CHECK(web.turns == 6);
}

TEST_CASE("jobs: a list ends with a long body that is the last job") {
  WebFixture web;
  const JobId id = web.put(std::string(5 * kSliceSteps, 'a') + "b");
  const Json page = web.read("/api/v1/jobs?text=ab");
  REQUIRE(page["jobs"].size() == 1);
  CHECK(page["jobs"][0]["id"] == id);
  CHECK(page["next"] == nullptr);
}

TEST_CASE("jobs: one that is gone while it is searched is not found") {
  WebFixture web;
  const JobId id = web.put(std::string(5 * kSliceSteps, 'a') + "b");
  Response part = web.ask(request_of("GET", "/api/v1/jobs?text=ab"));
  REQUIRE(part.go_on);
  CHECK(web.broker.admin().change(id, Mutation::Action::kDiscard, web.now));
  part = part.go_on(web.now);
  CHECK_FALSE(part.go_on);
  CHECK(Json::parse(part.body)["jobs"].empty());
}

TEST_CASE("operations: a long body is searched in as many slices as it takes") {
  WebFixture web;
  web.put("xab");
  const JobId found = web.put(std::string(5 * kSliceSteps, 'a') + "b");
  const JobId other = web.put(std::string(5 * kSliceSteps, 'a'));
  const Json filter{{"action", "delete"}, {"states", {"ready", "dead"}}, {"text", "aab"}};
  CHECK(web.post("/api/v1/operations", filter).status == 202);
  int slices = 1;
  while (web.bulks.work(web.now)) ++slices;
  CHECK(slices > 10);
  CHECK(web.find(found) == nullptr);
  CHECK(web.find(other) != nullptr);
  CHECK(web.bulks.list().front().changed == 1);
  CHECK(web.bulks.list().front().looked_at == 3);
}

TEST_CASE("jobs: a value in the arguments is found by its path") {
  WebFixture web;
  const auto push = [&web](const char* jid, const char* more) {
    const std::string json = std::string(R"({"jid":")") + jid + R"(","jobtype":"A",)" + more + "}";
    REQUIRE(web.service.push(json, web.now, access::Caller::everybody()).has_value());
  };
  push("job-00000001", R"("args":[1,{"user":{"id":42}}],"custom":{"args":[{"user":{"id":7}}]})");
  push("job-00000002",
       R"("args":[{"user":{"id":43,"name":"\u674e"}}],"at":"2099-01-01T00:00:00Z")");
  web.put(R"({"user":{"id":42}})");
  const auto count = [&web](const std::string& query) {
    return web.read("/api/v1/jobs/count?" + query)["matched"].get<int>();
  };
  CHECK(count("arg=user.id:42") == 1);
  CHECK(count("arg=user.id:7") == 0);
  CHECK(count("arg=user.id:4*") == 1);
  CHECK(count("state=scheduled&arg=user.name:李") == 1);
  CHECK(count("arg=user.id:42&text=user") == 1);
  CHECK(count("arg=user.id:42&type=B") == 0);
  CHECK(web.get("/api/v1/jobs?arg=user").status == 400);
  CHECK(web.get("/api/v1/jobs?arg=user.id:").status == 400);
}

TEST_CASE("jobs: several values in the arguments must all be there") {
  WebFixture web;
  const auto push = [&web](const char* jid, const std::string& args) {
    const std::string json = concat(R"({"jid":")", jid, R"(","jobtype":"A","args":)", args, "}");
    REQUIRE(web.service.push(json, web.now, access::Caller::everybody()).has_value());
  };
  push("job-00000001", R"([{"user":{"id":42}},{"name":""}])");
  push("job-00000002", R"([{"user":{"id":42},"name":"x"}])");
  const auto count = [&web](const std::string& query) {
    return web.read("/api/v1/jobs/count?" + query)["matched"].get<int>();
  };
  CHECK(count("arg=user.id:42") == 2);
  CHECK(count("arg=user.id:42 name:x") == 1);
  CHECK(count("arg=name:\"\" user.id:42") == 1);
  CHECK(count("arg=user.id:43 name:x") == 0);
}

TEST_CASE("jobs: at most eight values in the arguments are searched for at a time") {
  WebFixture web;
  std::string eight = "a:1";
  for (std::size_t i = 1; i < kArgPathsMax; ++i) eight += " a:1";
  CHECK(web.get("/api/v1/jobs?arg=" + eight).status == 200);
  const Response refused = web.get("/api/v1/jobs?arg=" + eight + " a:1");
  CHECK(refused.status == 400);
  CHECK(refused.body.find("arg has more than 8 values") != std::string::npos);
}

TEST_CASE("jobs: the arguments of long jobs are searched in several turns") {
  WebFixture web;
  const std::string filler(3 << 20, 'x');
  const std::string json =
      R"({"jid":"job-00000001","jobtype":"A","args":[")" + filler + R"(",{"id":5}]})";
  REQUIRE(web.service.push(json, web.now, access::Caller::everybody()).has_value());
  CHECK(web.read("/api/v1/jobs?arg=id:5&text=xx")["jobs"].size() == 1);
  CHECK(web.turns > 5);
  CHECK(web.read("/api/v1/jobs?arg=id:6")["jobs"].empty());
  CHECK(web.read("/api/v1/jobs?arg=id:5 0:x*")["jobs"].size() == 1);
  CHECK(web.read("/api/v1/jobs?arg=0:x* id:6")["jobs"].empty());
}

}  // namespace millrace::http
