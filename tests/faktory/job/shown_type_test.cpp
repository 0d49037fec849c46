#include "faktory/job/shown_type.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "faktory/job/pushed_job.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

struct Typed {
  Typed(JobKind kind, std::string_view body) {
    job.id = 7;
    job.kind = kind;
    job.body = std::make_unique<char[]>(body.size());
    std::memcpy(job.body.get(), body.data(), body.size());
    job.body_bytes = static_cast<std::uint32_t>(body.size());
  }
  [[nodiscard]] std::string_view part() const { return find_type_part(job); }
  [[nodiscard]] WorkUnitFormat::Type type() const { return read_type_part(part()); }

  Job job;
};

std::string stored_body(std::string_view json) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  REQUIRE(members);
  std::string body;
  REQUIRE(make_pushed_job(*members, kNow, {}, no_secret, body));
  return body;
}

Typed pushed_job(std::string_view json) {
  return {JobKind::kWorkUnit, stored_body(json)};
}

std::string active_job(const std::string& custom, const std::string& args = "[]") {
  return R"({"jid":"12345678","jobtype":")" + std::string(kActiveJobWrapper) + R"(","custom":)" +
         custom + R"(,"args":)" + args + "}";
}

std::string type_of_active_job(const std::string& custom, const std::string& args = "[]") {
  return pushed_job(active_job(custom, args)).type().name;
}

std::string mail(const std::string& arguments) {
  return R"([{"job_class":"ActionMailer::MailDeliveryJob","job_id":"1","arguments":)" + arguments +
         R"(,"locale":"en"}])";
}

/// Of what was put; empty: it has no type.
std::string type_of_put(std::string_view body) {
  return Typed(JobKind::kBytes, body).type().name;
}

const std::string kWrapper(kActiveJobWrapper);

}  // namespace

TEST_CASE("shown type: of most pushed jobs the jobtype") {
  CHECK(pushed_job(R"({"jid":"12345678","jobtype":"T","args":[]})").type().name == "T");
  CHECK(pushed_job(R"({"jid":"12345678","jobtype":"a\"\u00e9","args":[],"created_at":"c"})")
            .type()
            .name == "a\"\xc3\xa9");
  CHECK(
      pushed_job(R"({"retry":3,"custom":{"wrapped":"W"},"jid":"12345678","jobtype":"T","args":[]})")
          .type()
          .name == "T");
  CHECK(Typed(JobKind::kWorkUnit, "broken").part().empty());
}

TEST_CASE("shown type: of ActiveJob the class that is wrapped") {
  const WorkUnitFormat::Type type = pushed_job(active_job(R"({"wrapped":"InvoiceJob"})")).type();
  CHECK(type.name == "InvoiceJob");
  CHECK(type.wrapper == kWrapper);
  CHECK(type_of_active_job(R"({ "locale":{"wrapped":"No"}, "wrapped" : "A::B\u00e9" })") ==
        "A::B\xc3\xa9");
  CHECK(type_of_active_job(R"({"wrapped":"A","wrapped":"B"})") == "B");
}

TEST_CASE("shown type: of a mail its mailer and method") {
  for (const char* const job : {"ActionMailer::MailDeliveryJob", "ActionMailer::DeliveryJob"}) {
    const std::string custom = R"({"wrapped":")" + std::string(job) + "\"}";
    const auto type_of = [&](const std::string& args) { return type_of_active_job(custom, args); };
    CHECK(type_of(mail(R"(["UserMailer","welcome","deliver_now",{"args":[1]}])")) ==
          "UserMailer#welcome");
    CHECK(type_of(mail(R"(["UserMailer"])")) == job);
    CHECK(type_of(mail(R"(["UserMailer",1])")) == job);
    CHECK(type_of(mail(R"({"UserMailer":"welcome"})")) == job);
    CHECK(type_of("[]") == job);
    CHECK(type_of(R"([["arguments",["A","b"]]])") == job);
  }
  CHECK(type_of_active_job(R"({"wrapped":"Other"})", mail(R"(["A","b"])")) == "Other");
}

TEST_CASE("shown type: a wrapped class that is none leaves the jobtype") {
  for (const std::string& custom :
       {std::string(R"({"wrapped":1})"), std::string(R"({"wrapped":null})"),
        std::string(R"({"wrapped":["A"]})"), std::string(R"({"wrapped":{"wrapped":"A"}})"),
        std::string(R"({"wrapped":""})"), std::string(R"({"wrapped":"A","wrapped":null})"),
        std::string(R"({"other":"A"})"), std::string("{}"),
        R"({"wrapped":")" + std::string(5'000'000, 'x') + "\"}",
        R"({"a":")" + std::string(kTypeSearchBytes, 'x') + R"(","wrapped":"A"})"}) {
    CAPTURE(custom.substr(0, 40));
    CHECK(type_of_active_job(custom) == kWrapper);
  }
  CHECK(pushed_job(R"({"jid":"12345678","args":[],"jobtype":")" + kWrapper + "\"}").type().name ==
        kWrapper);
}

TEST_CASE("shown type: a name may have so many bytes") {
  const std::string longest(kShownTypeBytesMax - 2, 'x');
  CHECK(type_of_active_job(R"({"wrapped":")" + longest + "\"}") == longest);
  CHECK(type_of_active_job(R"({"wrapped":")" + longest + "x\"}") == kWrapper);
}

TEST_CASE("shown type: of Laravel the display name") {
  CHECK(
      type_of_put(R"({"uuid":"1","displayName":"App\\Jobs\\Send","job":)"
                  R"("Illuminate\\Queue\\CallQueuedHandler@call","data":{"displayName":"no"}})") ==
      "App\\Jobs\\Send");
  CHECK(type_of_put("\n{ \"displayName\" : \"Closure (web.php:42)\" , \"job\" : \"x@call\" }") ==
        "Closure (web.php:42)");
  CHECK(type_of_put(R"({"displayName":"A"})").empty());
  CHECK(type_of_put(R"({"displayName":1,"job":"x@call"})").empty());
  CHECK(type_of_put(R"({"displayName":"","job":"x@call"})").empty());
}

TEST_CASE("shown type: of Symfony Messenger the header") {
  CHECK(type_of_put(
            R"({"body":"{\"a\":\"\\\"}\"}","headers":{"X":"1","type":"App\\Message\\Send"}})") ==
        "App\\Message\\Send");
  CHECK(type_of_put(R"({"headers":{"type":"A"},"body":""})") == "A");
  CHECK(type_of_put(R"({"body":"O:36:\\\"","headers":[]})").empty());
  CHECK(type_of_put(R"({"body":"","headers":{"type":["A"]}})").empty());
  CHECK(type_of_put(R"({"body":{},"headers":{"type":"A"}})").empty());
}

TEST_CASE("shown type: a work unit that was put has its own") {
  CHECK(type_of_put(R"({"JobType":"T","args":[1]})") == "T");
  CHECK(type_of_put(R"({"args":[],"jobtype":"T","queue":"q"})") == "T");
  CHECK(type_of_put(active_job(R"({"wrapped":"InvoiceJob"})")) == "InvoiceJob");
  CHECK(type_of_put(active_job(R"({"wrapped":1})")) == kWrapper);
  CHECK(type_of_put(R"({"jobtype":"T"})").empty());
  CHECK(type_of_put(R"({"jobtype":"T","args":{}})").empty());
}

TEST_CASE("shown type: other bodies that were put have none") {
  for (const std::string& body :
       {std::string(), std::string("x"), std::string("{"), std::string("{}"), std::string("{\""),
        std::string("{\"uuid"), std::string("[1]"), std::string(R"({"displayName":"A","job":"b")"),
        std::string("{\"displayName\":\"\xff\",\"job\":\"b\"}"),
        std::string(R"({"displayName":"A","job":"b"} x)"),
        std::string(R"({"mine":1,"displayName":"A","job":"b"})"),
        R"({"displayName":"A","job":")" + std::string(kTypedBodyBytesMax, 'x') + "\"}"}) {
    CAPTURE(body.substr(0, 40));
    CHECK(type_of_put(body).empty());
  }
}

TEST_CASE("shown type: a body that is cut anywhere is read to its end, and not beyond") {
  for (const std::string& custom : {std::string(R"({"wrapped":"A\"B"})"),
                                    std::string(R"({"wrapped":"ActionMailer::DeliveryJob"})")}) {
    const std::string body = stored_body(active_job(custom, mail(R"(["A","b\"c"])")));
    for (std::size_t length = 0; length < body.size(); ++length) {
      static_cast<void>(Typed(JobKind::kWorkUnit, std::string_view(body).substr(0, length)).type());
    }
  }
  const std::string put = R"({"body":"\\","headers":{"type":"A\\\"b"}})";
  // The last bracket may be missing, and the type is there all the same.
  for (std::size_t length = 0; length + 1 < put.size(); ++length) {
    CHECK(type_of_put(std::string_view(put).substr(0, length)).empty());
    CHECK(type_of_put(std::string(put.substr(0, length)) + "}") != "A\\");
  }
}

TEST_CASE("shown type: parts that begin with the bytes that name a type have that type") {
  const auto begins_with = [](const Typed& longer, const Typed& named) {
    const std::string_view bytes = named.part().substr(0, named.type().bytes);
    CHECK_FALSE(bytes.empty());
    return longer.part().starts_with(bytes);
  };
  const std::string more = R"(","args":[2],"created_at":"c"})";
  const std::string head = R"({"jid":"23456789","jobtype":")";
  const Typed one = pushed_job(R"({"jid":"12345678","jobtype":"Mail","args":[1]})");
  CHECK(begins_with(pushed_job(head + "Mail" + more), one));
  CHECK_FALSE(begins_with(pushed_job(head + "MailAll" + more), one));
  const Typed wrapped = pushed_job(active_job(R"({"wrapped":"Mail"})"));
  CHECK(begins_with(pushed_job(active_job(R"({"a":1,"wrapped":"Mail"})", "[1]")), wrapped));
  CHECK_FALSE(begins_with(pushed_job(active_job(R"({"wrapped":"MailAll"})")), wrapped));
  const std::string delivery = R"({"wrapped":"ActionMailer::MailDeliveryJob"})";
  const Typed letter = pushed_job(active_job(delivery, mail(R"(["A","b","deliver_now"])")));
  CHECK(
      begins_with(pushed_job(active_job(delivery, mail(R"(["A","b","deliver_later"])"))), letter));
  CHECK_FALSE(begins_with(pushed_job(active_job(delivery, mail(R"(["A","bc"])"))), letter));
}

TEST_CASE("shown type: what a worker gets is as it was sent") {
  const Typed job = pushed_job(active_job(R"({"wrapped":"InvoiceJob"})"));
  std::string out;
  const WorkUnits units;
  units.render(job.job, "default", {}, out);
  CHECK(out.find(R"("custom":{"wrapped":"InvoiceJob"})") != std::string::npos);
  CHECK(out.find(R"("jobtype":")" + kWrapper + '"') != std::string::npos);
  CHECK(units.summarize(job.job).type == "InvoiceJob");
}

}  // namespace millrace::faktory
